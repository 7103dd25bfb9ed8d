#include "core/train/initial_parameters.h"

#include <span>

#include "core/formats/safetensors.h"
#include "core/model/init.h"
#include "core/model/load.h"

namespace rehearse {

template <class T>
void make_initial_parameters(const TrainConfig& config, const ParameterLayout& layout,
                             const ParameterTable<T>& parameters) {
  if (!config.init_file.has_value()) {
    initialise(layout, RandomStream(config.seed), parameters);
    return;
  }
  const std::string& contents = *config.init_file->contents;
  const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(contents)), config.init_file->path);
  load_parameters(file, layout, parameters, config.init_file->path);
}

template void make_initial_parameters(const TrainConfig&, const ParameterLayout&, const ParameterTable<float>&);
template void make_initial_parameters(const TrainConfig&, const ParameterLayout&, const ParameterTable<double>&);

}  // namespace rehearse
