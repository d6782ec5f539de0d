// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway::base {

/// Whether the library can compare what ranks do (HEADWAY_CHECK) and report deadlocks. A build
/// without it exists to count what that costs a program that asks for neither (`./dev bench
/// diagnostics`).
#if defined(HEADWAY_WITHOUT_DIAGNOSTICS)
inline constexpr bool has_diagnostics = false;
#else
inline constexpr bool has_diagnostics = true;
#endif

}  // namespace headway::base
