#pragma once

namespace rehearse {

// What gradients are multiplied by so that their global norm is at most max_norm: min(1, max_norm / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_ does. `norm` is that of the averaged gradient. NaN where the norm is.
double clip_factor(double norm, double max_norm);

}  // namespace rehearse
