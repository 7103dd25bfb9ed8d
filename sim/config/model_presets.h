#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/config.h"

namespace rehearse {

namespace config {
class Model;
class Scenario;
}  // namespace config

class Origins;

// A published model by its shape.
struct ModelPreset {
  std::string_view name;
  ModelConfig shape;
  std::string_view source;
};

// Null where there is none of that name.
const ModelPreset* find_model_preset(std::string_view name);
std::vector<std::string> model_preset_names();

// Writes what model.preset says into the model's other fields, where they are not written. Before all other defaults,
// and before it is checked that required fields are there. Throws InputError for an unknown preset.
void fill_model_preset(config::Scenario& message, const Origins& origins);

// Clears fields of a model without a preset that say what holds without them: one shape has one spelling.
void clear_default_shape(config::Model& model);
// The same of train.main_grads_dtype and train.optimizer_dtype.
void clear_default_types(config::Scenario& message);

// Of a model whose fields are complete but for those of its shape, which may be left out.
ModelConfig shape_of(const config::Model& model);
// What optimizer_dtype is where it is left out.
bool has_16_bits(const config::Model& model);

}  // namespace rehearse
