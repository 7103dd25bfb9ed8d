#include "tools/export/field_reference.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "core/base/error.h"
#include "sim/config/scenario.pb.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::HasSubstr;

// The fields as the program's own loader has them: from the compiled schema, not from its comments.
void add_fields(const Descriptor* message, const std::string& prefix,
                std::map<std::string, const FieldDescriptor*>& fields) {
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    fields[prefix + field->name()] = field;
    if (field->message_type() != nullptr) add_fields(field->message_type(), prefix + field->name() + ".", fields);
  }
}

TEST(FieldReference, HasEveryFieldOnceWithWordsAboutIt) {
  std::map<std::string, const FieldDescriptor*> fields;
  add_fields(config::Scenario::descriptor(), "", fields);
  std::map<std::string, int> found;
  for (const FieldEntry& entry : scenario_fields()) {
    ++found[entry.path];
    EXPECT_TRUE(fields.contains(entry.path)) << entry.path;
    EXPECT_FALSE(entry.comment.empty()) << entry.path << " has no comment in scenario.proto";
  }
  for (const auto& [path, field] : fields) EXPECT_EQ(found[path], 1) << path;
  std::printf("%zu fields\n", fields.size());
  EXPECT_GT(fields.size(), 200U);
}

TEST(FieldReference, SaysDefaultsLimitsAndTypesOfTheSchema) {
  std::map<std::string, const FieldDescriptor*> fields;
  add_fields(config::Scenario::descriptor(), "", fields);
  for (const FieldEntry& entry : scenario_fields()) {
    const FieldDescriptor* field = fields.at(entry.path);
    EXPECT_EQ(entry.required, field->is_required()) << entry.path;
    EXPECT_EQ(entry.repeated, field->is_repeated()) << entry.path;
    EXPECT_EQ(!entry.default_value.empty(), field->has_default_value()) << entry.path;
    EXPECT_EQ(entry.type == "group", field->message_type() != nullptr) << entry.path;
    const config::Rule& rule = field->options().GetExtension(config::rule);
    const bool limited = rule.has_min() || rule.has_max() || rule.has_above() || rule.has_below();
    EXPECT_EQ(!entry.allowed.empty(), limited) << entry.path;
    if (field->enum_type() == nullptr) continue;
    for (int i = 0; i < field->enum_type()->value_count(); ++i) {
      EXPECT_THAT(entry.type, HasSubstr(field->enum_type()->value(i)->name())) << entry.path;
    }
  }
}

TEST(FieldReference, ReadsAsALineAndAParagraphForEachField) {
  EXPECT_THAT(field_reference("cluster.ranks"),
              HasSubstr("cluster.ranks: whole number, at least 1, at most 65536; default 4\n    Processes in the job"));
  EXPECT_THAT(field_reference("cluster.network.latency"), HasSubstr("duration, at least 0 ps; default \"5us\"\n"));
  EXPECT_THAT(field_reference("mode"), HasSubstr("mode: TRAIN or COST\n"));
  EXPECT_THAT(field_reference("name"), HasSubstr("name: text; required\n"));
}

TEST(FieldReference, SaysOnceWhatFaultsOfTheNetworkHaveInCommon) {
  for (const FieldEntry& entry : scenario_fields()) {
    if (entry.path == "faults.link_down") {
      for (const char* field : {"from", "to", "both_ways", "from_time", "from_step", "until_time", "until_step"}) {
        EXPECT_THAT(entry.comment, HasSubstr(field));
      }
    }
    if (entry.path != "faults.loss.until_step") continue;
    EXPECT_THAT(entry.comment, HasSubstr("As faults.link_down says"));
  }
}

TEST(FieldReference, OfAPathHasWhatIsBelowItAlone) {
  const std::string train = field_reference("train");
  EXPECT_THAT(train, HasSubstr("train.steps: "));
  EXPECT_THAT(train, Not(HasSubstr("\ncluster")));
  EXPECT_THROW(field_reference("trai"), InputError);
  const testing_command::Ran ran = testing_command::rehearse({"fields", "train.stepz"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("no field 'train.stepz'"));
  EXPECT_EQ(testing_command::rehearse({"fields", "train"}).out, train);
}

}  // namespace
}  // namespace rehearse
