#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/formats/safetensors.h"
#include "core/model/layout.h"
#include "core/model/load.h"
#include "sim/config/convert.h"
#include "sim/config/model_presets.h"
#include "sim/config/scenario.pb.h"

namespace rehearse {
namespace {

DType convert_type(config::Model::DType dtype) {
  switch (dtype) {
    case config::Model::FLOAT32:
      return DType::kFloat32;
    case config::Model::FLOAT64:
      return DType::kFloat64;
    case config::Model::BFLOAT16:
      return DType::kBFloat16;
    case config::Model::FLOAT16:
      return DType::kFloat16;
  }
  check_failed(__FILE__, __LINE__, "a type that the schema does not have");
}

// What the model that computes has not, in mode TRAIN.
class TrainableShape {
 public:
  TrainableShape(const config::Model& model, const Origins& origins) : model_(model), origins_(origins) {}

  void check() const {
    const ModelConfig shape = shape_of(model_);
    refuse_unless(shape.ffn == 0, "ffn", std::to_string(model_.ffn()),
                  "4 times embed, which is " + std::to_string(4 * model_.embed()));
    refuse_unless(shape.kv_heads == 0, "kv_heads", std::to_string(model_.kv_heads()),
                  "as many as heads, which are " + std::to_string(model_.heads()));
    refuse_unless(shape.mlp == Mlp::kGelu, "mlp", "SWIGLU", "GELU");
    refuse_unless(shape.norm == Norm::kLayerNorm, "norm", "RMSNORM", "LAYERNORM");
    refuse_unless(shape.positions == Positions::kLearned, "positions", "ROTARY", "LEARNED");
    refuse_unless(shape.attention == Attention::kUnfused, "attention", "FLASH", "UNFUSED");
    refuse_unless(!shape.attention_bias, "attention_bias", "true", "false");
    refuse_unless(shape.mlp_bias, "mlp_bias", "false", "true");
    refuse_unless(!shape.tied_embeddings, "tied_embeddings", "true", "false");
  }

 private:
  void refuse_unless(bool trains, const std::string& field, const std::string& found,
                     const std::string& allowed) const {
    if (trains) return;
    const std::string path = "model." + field;
    const std::string rule = "; allowed in mode TRAIN: " + allowed + "; mode COST takes both";
    // What the preset wrote stands nowhere else.
    if (model_.has_preset() && origins_.where(path) == origins_.where("model")) {
      origins_.fail("model.preset", "found \"" + model_.preset() + "\", whose " + field + " is " + found + rule);
    }
    origins_.fail(path, "found " + found + rule);
  }

  const config::Model& model_;
  const Origins& origins_;
};

void check_trains(const config::Scenario& message, const Origins& origins) {
  TrainableShape(message.model(), origins).check();
  const std::string type = config::Model::DType_Name(message.model().dtype());
  if (has_16_bits(message.model())) {
    origins.fail("model.dtype", "found " + type + "; allowed in mode TRAIN: FLOAT32, FLOAT64; mode COST takes all");
  }
  const auto check = [&](bool has, config::Model::DType dtype, const std::string& path) {
    if (!has || dtype == message.model().dtype()) return;
    origins.fail(path, "found " + config::Model::DType_Name(dtype) + "; allowed in mode TRAIN: model.dtype, which is " +
                           type + "; mode COST takes all");
  };
  check(message.train().has_main_grads_dtype(), message.train().main_grads_dtype(), "train.main_grads_dtype");
  check(message.train().has_optimizer_dtype(), message.train().optimizer_dtype(), "train.optimizer_dtype");
}

void convert_types(const config::Scenario& message, TrainConfig& train) {
  const config::Train& from = message.train();
  train.dtype = convert_type(message.model().dtype());
  if (from.has_main_grads_dtype()) train.gradient_dtype = convert_type(from.main_grads_dtype());
  if (has_16_bits(message.model())) train.optimizer_dtype = DType::kFloat32;
  if (from.has_optimizer_dtype()) train.optimizer_dtype = convert_type(from.optimizer_dtype());
}

void convert_init_file(const NamedFiles& files, const Origins& origins, TrainConfig& train) {
  const auto init = files.inputs.find("model.init_file");
  if (init == files.inputs.end()) return;
  train.init_file = init->second;
  try {
    // Loads into scratch memory what every rank will load later, so that a file that does not fit is refused here.
    const auto file = SafetensorsFile::parse(std::as_bytes(std::span(*init->second.contents)), init->second.path);
    const ParameterLayout layout(train.model);
    std::vector<float> scratch(static_cast<std::size_t>(layout.total()));
    load_parameters(file, layout, table_of_flat(layout, scratch.data()), init->second.path);
  } catch (const InputError& error) {
    origins.fail("model.init_file", error.what());
  }
}

}  // namespace

void convert_model(const config::Scenario& message, const NamedFiles& files, const Origins& origins,
                   Scenario& scenario) {
  const config::Model& model = message.model();
  TrainConfig& train = scenario.train;
  train.model = shape_of(model);
  if (model.embed() % model.heads() != 0) {
    origins.fail("model.heads", "found " + std::to_string(model.heads()) +
                                    "; allowed: a divisor of model.embed, which is " + std::to_string(model.embed()));
  }
  if (model.has_kv_heads() && model.heads() % model.kv_heads() != 0) {
    origins.fail("model.kv_heads", "found " + std::to_string(model.kv_heads()) +
                                       "; allowed: a divisor of model.heads, which is " +
                                       std::to_string(model.heads()));
  }
  if (parameter_count(train.model) > kMostElements) {
    origins.fail("model", "found sizes that make more than 2^40 parameters; allowed: fewer layers, embed or vocab");
  }
  validate(train.model);
  if (message.mode() == config::Scenario::TRAIN) check_trains(message, origins);
  convert_types(message, train);
  convert_init_file(files, origins, train);
}

}  // namespace rehearse
