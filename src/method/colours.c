/* Classes of pages, counted; see colours.h. */
#include "method/colours.h"

#include <math.h>

enum { POWER_MAX = 14 };
static const double impossible = 10; /* fewer misses than pages too many: chance cannot do that */

void xr_colours_misses(double n, double classes, double ways, double *least, double *most)
{
	double all = 0, over = 0; /* pages of classes that overflow; of these, those too many */

	*least = *most = 0;
	if (!(n > ways))
		return;
	for (double k = floor(ways) + 1; k <= n; k++) {
		double chance = classes > 1 ? exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - k * log(classes) +
		                                  (n - k) * log1p(-1 / classes))
		                            : k == n;

		all += classes * k * chance;
		over += classes * fmin(k, (k - ways) * (1 + 1 / ways)) * chance;
		if (k > n / classes && chance * classes * n < 1e-6)
			break;
	}
	*least = over / n;
	*most = all / n;
}

/* How far the shares are from what a number of classes predicts, in units of what chance may do: the classes that
 * overflow come and go as a whole. Some orders of visits make more misses than there need be, none makes fewer. Nearly
 * all caches miss nearly all they can, so the upper end is the likelier one: a small part of the distance from it
 * counts too. */
static double misfit_of(const double *pages, const double *share, size_t k, double classes, double ways)
{
	double sum = 0;

	for (size_t i = 0; i < k; i++) {
		double least, most, middle;

		xr_colours_misses(pages[i], classes, ways, &least, &most);
		middle = (least + most) / 2;
		if (share[i] * pages[i] < 0.8 * (pages[i] - ways * classes))
			sum += impossible;
		sum += (fmax(0, fmax(2 * (least - share[i]), share[i] - most)) + 0.1 * fabs(share[i] - most)) /
		       (0.02 + sqrt(middle * (1 - middle) * (ways + 1) / pages[i]));
	}
	return sum / (double)k;
}

double xr_colours_fit(const double *pages, const double *share, size_t k, double ways, double *misfit, double *rival)
{
	double best = 0;

	*misfit = *rival = INFINITY;
	for (int power = 0; power <= POWER_MAX && k > 0; power++) {
		double here = misfit_of(pages, share, k, ldexp(1, power), ways);

		if (here < *misfit) {
			*rival = *misfit;
			*misfit = here;
			best = ldexp(1, power);
		} else {
			*rival = fmin(*rival, here);
		}
	}
	return best;
}

double xr_colours_agree(const double *pages, const double *share, size_t k, double ways, double classes)
{
	double curves = 0, agree = 0, misfit, rival;

	for (size_t from = 0, end; from < k; from = end) {
		for (end = from + 1; end < k && pages[end] > pages[end - 1];)
			end++;
		curves++;
		agree += xr_colours_fit(pages + from, share + from, end - from, ways, &misfit, &rival) == classes;
	}
	return curves > 0 ? agree / curves : 0;
}
