#include "sim/config/canonical.h"

#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/numbers.h"
#include "sim/config/field_value.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

bool is_group(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

std::vector<const FieldDescriptor*> written_fields(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);  // in order of their numbers
  return fields;
}

// Calls visit(group, field, path) for every group that stands in `message`.
template <class Visit>
void for_each_group(Message& message, const std::string& path, Visit visit) {
  const Reflection& access = *message.GetReflection();
  for (const FieldDescriptor* field : written_fields(message)) {
    if (!is_group(*field)) continue;
    const std::string name = join_path(path, field->name());
    if (!field->is_repeated()) {
      visit(*access.MutableMessage(&message, field), name);
      continue;
    }
    for (int i = 0; i < access.FieldSize(message, field); ++i) {
      visit(*access.MutableRepeatedMessage(&message, field, i), name + "[" + std::to_string(i) + "]");
    }
  }
}

// The field that stands for this one where it is written; null where there is none.
const FieldDescriptor* substitute_of(const FieldDescriptor& field) {
  const std::string& name = field.options().GetExtension(config::rule).unless();
  return name.empty() ? nullptr : field.containing_type()->FindFieldByName(name);
}

void check_required_in(const Message& message, const std::string& path, Origins& origins) {
  const Descriptor& type = *message.GetDescriptor();
  const Reflection& access = *message.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const FieldDescriptor* substitute = substitute_of(field);
    const bool substituted = substitute != nullptr && access.HasField(message, substitute);
    if (substituted && access.HasField(message, &field)) {
      origins.fail(join_path(path, field.name()), "found together with " + join_path(path, substitute->name()) +
                                                      ", which stands for it; allowed: one of them");
    }
    if ((field.is_required() || (substitute != nullptr && !substituted)) && !access.HasField(message, &field)) {
      origins.fail(join_path(path, field.name()), "missing; " + allowed_text(field));
    }
  }
  for_each_group(const_cast<Message&>(message), path,
                 [&](const Message& group, const std::string& name) { check_required_in(group, name, origins); });
}

bool requires_a_field(const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->is_required()) return true;
  }
  return false;
}

bool is_all_lists(const Descriptor& type) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (!type.field(i)->is_repeated()) return false;
  }
  return true;
}

void set_default(Message& message, const FieldDescriptor& field) {
  const Reflection& access = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return access.SetInt64(&message, &field, field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT64:
      return access.SetUInt64(&message, &field, field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return access.SetDouble(&message, &field, field.default_value_double());
    case FieldDescriptor::CPPTYPE_BOOL:
      return access.SetBool(&message, &field, field.default_value_bool());
    case FieldDescriptor::CPPTYPE_STRING:
      return access.SetString(&message, &field, field.default_value_string());
    case FieldDescriptor::CPPTYPE_ENUM:
      return access.SetEnum(&message, &field, field.default_value_enum());
    default:
      check_failed(__FILE__, __LINE__, "a type that no scenario field has: " + field.full_name());
  }
}

void fill_field(Message& message, const FieldDescriptor& field) {
  const Reflection& access = *message.GetReflection();
  if (field.is_repeated() || access.HasField(message, &field)) return;
  const OneofDescriptor* oneof = field.real_containing_oneof();
  if (oneof != nullptr && access.HasOneof(message, oneof)) return;
  if (is_group(field)) {
    const Descriptor& type = *field.message_type();
    // A group of nothing but lists has no defaults to show.
    const bool decided = oneof != nullptr || substitute_of(field) != nullptr;
    if (!decided && !requires_a_field(type) && !is_all_lists(type)) access.MutableMessage(&message, &field);
  } else if (field.has_default_value()) {
    set_default(message, field);
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((byte >> shift) & 7));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Of a field with one value; of a list, the `index`-th.
std::string value_text(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& access = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(list ? access.GetRepeatedInt64(message, &field, index) : access.GetInt64(message, &field));
    default:
      CHECK(!list);  // no other scenario field is a list of plain values
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::to_string(access.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return shortest_text(access.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return access.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return quoted(access.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return access.GetEnum(message, &field)->name();
    default:
      check_failed(__FILE__, __LINE__, "a type that no scenario field has: " + field.full_name());
  }
}

void write_group(const Message& message, const std::string& indent, std::string& out) {
  const Reflection& access = *message.GetReflection();
  const auto write = [&](const FieldDescriptor& field, const Message& group) {
    out += indent + field.name() + " {\n";
    write_group(group, indent + "  ", out);
    out += indent + "}\n";
  };
  for (const FieldDescriptor* field : written_fields(message)) {
    if (!is_group(*field)) {
      const int values = field->is_repeated() ? access.FieldSize(message, field) : 1;
      for (int i = 0; i < values; ++i) {
        out += indent + field->name() + ": " + value_text(message, *field, i) + "\n";
      }
    } else if (!field->is_repeated()) {
      write(*field, access.GetMessage(message, field));
    } else {
      for (int i = 0; i < access.FieldSize(message, field); ++i) {
        write(*field, access.GetRepeatedMessage(message, field, i));
      }
    }
  }
}

void visit_files(Message& message, const std::string& path, const FileVisitor& visit) {
  for (const FieldDescriptor* field : written_fields(message)) {
    if (field->options().GetExtension(config::rule).has_file()) visit(message, *field, join_path(path, field->name()));
  }
  for_each_group(message, path, [&](Message& group, const std::string& name) { visit_files(group, name, visit); });
}

}  // namespace

void check_required(const Message& message, Origins& origins) { check_required_in(message, "", origins); }

void fill_defaults(Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) fill_field(message, *type.field(i));
  for_each_group(message, "", [](Message& group, const std::string&) { fill_defaults(group); });
}

std::string canonical_text(const Message& message) {
  std::string out;
  write_group(message, "", out);
  return out;
}

void for_each_file(Message& message, const FileVisitor& visit) { visit_files(message, "", visit); }

// What sums as the default does, or sums nothing at all.
void clear_equal_sums(config::Scenario& scenario) {
  if (!scenario.has_train() || !scenario.train().has_collectives()) return;
  config::Collectives& collectives = *scenario.mutable_train()->mutable_collectives();
  collectives.clear_all_gather();
  collectives.clear_segment();
  if (collectives.all_reduce() == config::Collectives::RING) collectives.clear_all_reduce();
  if (collectives.reduce_scatter() == config::Collectives::RING) collectives.clear_reduce_scatter();
  if (!collectives.has_all_reduce() && !collectives.has_reduce_scatter()) {
    scenario.mutable_train()->clear_collectives();
  }
}

// Clears what does not decide bits instead of picking what does: a field to come counts until somebody says otherwise.
std::string arithmetic_digest(config::Scenario scenario) {
  scenario.clear_name();
  scenario.clear_mode();
  const config::Collectives& sums = scenario.train().collectives();
  // What is not picked yet the network decides.
  const bool picked =
      sums.all_reduce() != config::Collectives::AUTO && sums.reduce_scatter() != config::Collectives::AUTO;
  if (picked) scenario.mutable_cluster()->clear_network();
  scenario.mutable_cluster()->clear_price_per_rank_hour();
  scenario.mutable_cluster()->clear_device();
  scenario.mutable_cluster()->clear_storage();
  scenario.mutable_cluster()->clear_hosts_per_rack();
  scenario.clear_checkpoint();
  scenario.clear_faults();
  scenario.clear_recovery();
  scenario.clear_expect();
  if (scenario.train().collectives().all_reduce() != config::Collectives::HIERARCHICAL) {
    scenario.mutable_cluster()->clear_ranks_per_host();
  }
  clear_equal_sums(scenario);
  // When units are reduced, and what is kept or computed again, decides times and memory alone.
  if (scenario.has_train()) {
    scenario.mutable_train()->clear_overlap();
    scenario.mutable_train()->clear_recompute_blocks();
  }
  return sha256_hex("rehearse arithmetic\n" + canonical_text(scenario));
}

std::string scenario_digest(const config::Scenario& scenario) {
  return sha256_hex("rehearse scenario\n" + canonical_text(scenario));
}

}  // namespace rehearse
