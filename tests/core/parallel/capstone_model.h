#pragma once

#include "core/model/config.h"

namespace rehearse {

// The model of scenarios/capstone.textproto: 29,824 parameters.
inline ModelConfig capstone() {
  ModelConfig config;
  config.layers = 2;
  config.embed = 32;
  config.heads = 4;
  config.vocab = 64;
  config.context = 16;
  return config;
}

}  // namespace rehearse
