/* How many classes of pages does a level have? From laps over random pages.
 *
 * Random pages fall into the classes as balls into urns: of n pages and c classes, a class gets k with a binomial
 * probability, and misses appear where k exceeds the ways. Under lru all k miss then, under the best of policies hardly more
 * than k less the ways; all others are in between. Numbers of classes are powers of two, and each predicts a different curve.
 */
#ifndef XR_METHOD_COLOURS_H
#define XR_METHOD_COLOURS_H

#include <stddef.h>

/* Share of n visits that miss in the long run, at least and at most. */
void xr_colours_misses(double n, double classes, double ways, double *least, double *most);

/* The number of classes (a power of two) that fits best to the share[i] of pages[i] visits that missed, k of them.
 * *misfit: mean distance of the points from what it predicts, in units of what chance may do; *rival: the same of the
 * next best number. 0: no points. */
double xr_colours_fit(const double *pages, const double *share, size_t k, double ways, double *misfit, double *rival);

/* The points are of several curves, each of more and more pages: the share of curves to which this number of classes fits
 * best. */
double xr_colours_agree(const double *pages, const double *share, size_t k, double ways, double classes);

#endif
