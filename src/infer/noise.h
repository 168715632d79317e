/* SPDX-License-Identifier: MIT */
/* Noise: how a reading differs from what the machine does, fitted on this machine in this run.
 *
 * A reading is narrow around the truth; now and then it has a tail to the right, for others only ever add time;
 * and with a small chance it is anything at all. All in relative terms: y = ln(seen / predicted).
 *
 *   p(y) = bulk N(y; 0, sigma) + tail · exponential(y; scale) + anything · uniform(-reach, reach)
 *
 * Every engine uses this law and none has another: what a difference is worth follows from it. */
#ifndef XR_INFER_NOISE_H
#define XR_INFER_NOISE_H

#include <math.h>
#include <stddef.h>

struct xr_noise {
	double sigma;    /* of the bulk, relative */
	double tail;     /* share of readings that others lengthened, */
	double scale;    /* and by how much, on average, relative */
	double anything; /* share of readings that say nothing */
};

/* Before anything was read: wide, so that nothing is concluded too early. */
struct xr_noise xr_noise_unknown(void);

/* Learns from repetitions: group[i] names what reading[i] repeats (0 … ), so each group has its own truth. Groups
 * of one reading, and readings that are not positive numbers, are passed over. Few repetitions leave the law
 * close to the unknown one: it counts as a handful of readings. */
struct xr_noise xr_noise_fit(const double *reading, const size_t *group, size_t n);

/* Logarithm of the density of a reading where `predicted` is the truth. A reading that is no positive number says
 * nothing: the density is the same whatever was predicted. `slack`: how far the prediction itself may be off,
 * relative (1 sigma). */
double xr_noise_log(const struct xr_noise *noise, double predicted, double seen, double slack);

/* The same for a reading about which nothing is predicted but that it lies in least … most: what "none of these"
 * says. */
double xr_noise_log_none(const struct xr_noise *noise, double least, double most, double seen);

/* Of two errors that know nothing of each other. hypot() is also right where squares overflow, at four times the cost. */
static inline double xr_noise_both(double a, double b)
{
	return sqrt(a * a + b * b);
}

/* Standard deviation of the mean of k readings, tails trimmed. */
double xr_noise_of_mean(const struct xr_noise *noise, double k);

#endif
