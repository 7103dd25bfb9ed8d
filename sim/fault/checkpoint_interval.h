#pragma once

// How often to save. T is the time of training between two saves, C the time that a save costs, M the mean time between
// failures, R the time from a failure until training goes on; all in seconds, because M of a small job is beyond what
// virtual time holds. All of it assumes failures at a constant rate, and that a save or a restart fails seldom.

namespace rehearse {

// J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (1974): sqrt(2 C M), from C
// much smaller than M.
double young_interval(double save_seconds, double mean_seconds_between_failures);

// J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22 (2006):
// sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + C / 18M) - C for C < 2M, else M.
double daly_interval(double save_seconds, double mean_seconds_between_failures);

// The part of a job's time that is not training that stands, to first order: C/T + T/2M + R/M. May exceed 1 where the
// assumptions do not hold.
double expected_waste(double interval_seconds, double save_seconds, double restart_seconds,
                      double mean_seconds_between_failures);

}  // namespace rehearse
