// Ends the program with a message on a CPU that lacks the instructions the rest is compiled for. This file alone is
// compiled for any x86-64, runs before every other initialiser of the program, and calls nothing but the C library:
// a C++ function from elsewhere could itself be compiled with AVX2.

#include <cpuid.h>
#include <string.h>
#include <unistd.h>

namespace {

struct Feature {
  const char* name;
  bool present;
};

bool bit(unsigned int word, int index) { return (word >> index & 1U) != 0; }

void say(const char* text) {
  // Nothing could be done about a failure here.
  if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(2);
}

[[gnu::constructor(101)]] void check_cpu() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  unsigned int leaf1 = 0;
  unsigned int extended = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) leaf1 = ecx;
  if (__get_cpuid(0x80000001U, &eax, &ebx, &ecx, &edx) != 0) extended = ecx;
  __builtin_cpu_init();
  // The builtins also ask whether the operating system saves the AVX registers. What they do not know in every compiler
  // is read by hand: MOVBE and F16C in leaf 1, LZCNT in leaf 0x80000001.
  const Feature features[] = {
      {"AVX2", __builtin_cpu_supports("avx2") != 0},
      {"FMA", __builtin_cpu_supports("fma") != 0},
      {"BMI1", __builtin_cpu_supports("bmi") != 0},
      {"BMI2", __builtin_cpu_supports("bmi2") != 0},
      {"F16C", bit(leaf1, 29)},
      {"MOVBE", bit(leaf1, 22)},
      {"LZCNT", bit(extended, 5)},
  };
  for (const Feature& feature : features) {
    if (feature.present) continue;
    say("rehearse: this CPU lacks ");
    say(feature.name);
    say("; needed is x86-64-v3 (AVX2, FMA, BMI, F16C, LZCNT, MOVBE): Intel from Haswell (2013), AMD from Zen (2017); "
        "in a "
        "virtual machine, let it see the host's CPU\n");
    _exit(2);
  }
}

}  // namespace
