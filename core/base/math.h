#pragma once

// Elementary functions in double whose bits are the same on every CPU and compiler: libm picks its variants of log, cos
// and others by CPU feature (engine hazard of the determinism contract), these use only IEEE +, -, *, / and sqrt.

namespace rehearse {

inline constexpr double kPi = 3.141592653589793238462643383279502884;

// Natural logarithm of a positive finite x; at most 2e-15 relative (absolute near 1) from the true value.
double deterministic_log(double x);

// cos(pi * x) for x in [0, 1]; at most 4e-16 absolute from the true value.
double deterministic_cos_pi(double x);

}  // namespace rehearse
