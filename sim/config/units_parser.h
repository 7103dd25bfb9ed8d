#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.h"

namespace rehearse {

// Quantities of a scenario file: decimal digits, at most one point, and a mandatory suffix, without spaces, sign or
// exponent. Read exactly, in integers: "1.5us" is 1'500'000 ps. All throw InputError, which says what was found and
// what is allowed, for a missing or unknown suffix, a negative number, a value that is no whole number of the base unit
// ("0.1ps") and one that does not fit 64 bits. Zero is read; whether it is allowed is the field's business.

Duration parse_duration(std::string_view text);    // ps ns us ms s min h
Bandwidth parse_bandwidth(std::string_view text);  // bps Kbps Mbps Gbps Tbps GB/s TB/s, decimal
Bytes parse_size(std::string_view text);           // B KB MB GB decimal, KiB MiB GiB
FlopRate parse_flop_rate(std::string_view text);   // FLOPS KFLOPS MFLOPS GFLOPS TFLOPS PFLOPS, decimal

// The one spelling of a quantity that hashes see: a whole number with the largest suffix that allows one ("5us" for
// 5'000'000 ps). Reads back to the same value.
std::string canonical_text(Duration value);
std::string canonical_text(Bandwidth value);
std::string canonical_text(Bytes value);
std::string canonical_text(FlopRate value);

// The whole number n for which `value` is the double nearest to n / 10^9, or nothing where the value has more than 9
// decimals. Requires 0 <= value <= 10^6. Turns a decimal of a scenario into an exact ratio.
std::optional<std::int64_t> to_billionths(double value);

}  // namespace rehearse
