#pragma once

#include <cstdint>

#include "core/tensor/matmul.h"

namespace rehearse::internal {

// Columns of a panel: two vectors.
template <class T>
inline constexpr std::int64_t kPanelColumns = 64 / static_cast<std::int64_t>(sizeof(T));

// Copies B (depth x n) into panels of kPanelColumns columns: panel j, row p at out[(j * depth + p) * kPanelColumns].
// The last panel is filled up with zeros.
template <class T>
void pack_columns(std::int64_t depth, std::int64_t n, ConstMatrix<T> b, T* out);

// Copies rows x depth of A, element (i, p) to out[p * rows + i].
template <class T>
void pack_rows(std::int64_t rows, std::int64_t depth, ConstMatrix<T> a, T* out);

// out (columns x rows, contiguous) = the transpose of in (rows x columns with contiguous rows).
template <class T>
void transpose(std::int64_t rows, std::int64_t columns, ConstMatrix<T> in, T* out);

}  // namespace rehearse::internal
