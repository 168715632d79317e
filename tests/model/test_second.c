/* SPDX-License-Identifier: MIT */
/* The second generator: how often facts are right on machines that nobody looked at, and whether confidence means what
 * it says.
 *
 *   test_second            few machines of this commit's seeds against what tests/model/rates.txt and calibration.txt
 *                          own up to
 *   test_second --data N   those lines, from N machines: `bin` lines for calibration.txt, the rest for rates.txt
 *   test_second --machine  the machine of XR_SEED as a file (for seeds that nobody counts)
 *   test_second --page     docs/calibration.md from calibration.txt
 *   test_second --svg      docs/calibration.svg from it
 *
 * Of the facts that are told with confidence p a share p should be right. A bin holds facts of one group told with
 * about the same confidence; facts of one machine fail together, so the error of a bin comes from how machines differ.
 * The test fails where fewer are right than stated and than the record owns up to, by more than that error allows.
 */
#include "../lib/lab.h"
#include "../lib/second.h"
#include "../lib/tally.h"
#include "../lib/write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const rates = "tests/model/rates.txt", *const record = "tests/model/calibration.txt";
static const char *const groups[] = {"all",       "operations", "core",      "cache.levels", "cache.l1d",
                                     "cache.l1i", "cache.l2",   "cache.l2i", "cache.l3",     "tlb.d1",
                                     "tlb.d2",    "tlb.i1",     "memory",    "prefetch",     "system"};
static const double border[] = {0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0001};
enum { N_GROUPS = sizeof groups / sizeof *groups, N_BINS = sizeof border / sizeof *border - 1, MACHINES = 8 };
static const double surprise = 1e-4;

struct bin {
	double facts, right, stated; /* stated: sum of confidences */
	double squares; /* over machines, how far each is from the bin's share: what the error is made of */
	int machines;
	int current;
	double facts_here, right_here;
};

struct survey {
	struct tallies kinds;
	struct bin bin[N_GROUPS][N_BINS];
	/* facts and right ones by machine, for the error */
	struct {
		int group, bin;
		double facts, right;
	} * part;
	size_t n_parts;
};

static int bin_of(double confidence)
{
	int b = 0;
	while (b + 1 < N_BINS && confidence >= border[b + 1])
		b++;
	return b;
}

/* ---- counting ---- */

static void close_machine(struct bin *b, struct survey *s, int g, int i)
{
	if (b->facts_here <= 0)
		return;
	void *more = realloc(s->part, (s->n_parts + 1) * sizeof *s->part);
	if (!more)
		exit(1);
	s->part = more;
	s->part[s->n_parts].group = g;
	s->part[s->n_parts].bin = i;
	s->part[s->n_parts].facts = b->facts_here;
	s->part[s->n_parts++].right = b->right_here;
	b->machines++;
	b->facts_here = b->right_here = 0;
}

static void put(struct survey *s, int g, const struct lab_fact *fact)
{
	int i = bin_of(fact->confidence);
	struct bin *b = &s->bin[g][i];
	if (b->current != fact->machine + 1)
		close_machine(b, s, g, i);
	b->current = fact->machine + 1;
	b->facts++;
	b->facts_here++;
	b->stated += fact->confidence;
	b->right += fact->verdict == RIGHT;
	b->right_here += fact->verdict == RIGHT;
}

static void count(void *self, const struct lab_fact *fact)
{
	struct survey *s = self;
	char kind[64];
	lab_kind(fact->id, kind);
	tally_count(&s->kinds, kind, fact);
	if (!fact->given)
		return;
	for (int g = 1; g < N_GROUPS; g++)
		if (!strcmp(groups[g], lab_group(fact->id)))
			put(s, g, fact);
	put(s, 0, fact);
}

static void draw(void *self, int i, uint64_t seed, struct xr_machine *machine)
{
	(void)self;
	(void)i;
	second_machine(machine, seed);
}

static int measure(struct survey *s, int n)
{
	struct lab_plan plan = {
		.draw = draw, .each = count, .self = s, .seed = lab_seed(), .n = n, .select = {getenv("XR_ONLY")}};
	int broken = lab_run(&plan);
	for (int g = 0; g < N_GROUPS; g++)
		for (int i = 0; i < N_BINS; i++)
			close_machine(&s->bin[g][i], s, g, i);
	for (size_t i = 0; i < s->n_parts; i++) {
		struct bin *b = &s->bin[s->part[i].group][s->part[i].bin];
		double off = s->part[i].right - s->part[i].facts * b->right / b->facts;
		b->squares += off * off;
	}
	return broken;
}

/* ---- the record ---- */

struct line {
	char group[32];
	double low, facts, right, stated, error;
	int machines;
};

/* How many independent facts a bin is worth: machines count, and as many facts as their scatter allows. */
static double worth(const struct bin *b)
{
	double p = (b->right + 1) / (b->facts + 2), error = sqrt(b->squares) / b->facts;
	double n = error > 0 ? p * (1 - p) / (error * error) : b->machines;
	return fmax(b->machines, fmin(n, b->facts));
}

static struct line line_of(int g, int i, const struct bin *b)
{
	struct line l = {.low = border[i], .facts = b->facts, .machines = b->machines};
	double n = worth(b), p = b->right / b->facts;
	snprintf(l.group, sizeof l.group, "%s", groups[g]);
	l.right = p;
	l.stated = b->stated / b->facts;
	l.error = fmax(sqrt(p * (1 - p) / n), 1 / (n + 2));
	return l;
}

static void print_data(struct survey *s)
{
	for (int g = 0; g < N_GROUPS; g++)
		for (int i = 0; i < N_BINS; i++) {
			const struct bin *b = &s->bin[g][i];
			if (b->facts <= 0)
				continue;
			struct line l = line_of(g, i, b);
			printf("bin %s %.2f %.0f %.4f %.4f %.4f %d\n", l.group, l.low, l.facts, l.right, l.stated,
			       l.error, l.machines);
		}
	rates_write(stdout, "second-own", &s->kinds);
}

static int read_record(struct line *lines, int most)
{
	char text[256];
	int n = 0;
	FILE *file = fopen(record, "r");
	while (file && n < most && fgets(text, sizeof text, file)) {
		struct line *l = &lines[n];
		n += sscanf(text, "bin %31s %lf %lf %lf %lf %lf %d", l->group, &l->low, &l->facts, &l->right,
		            &l->stated, &l->error, &l->machines) == 7;
	}
	if (file)
		fclose(file);
	return n;
}

/* ---- page and diagram ---- */

static void print_page(const struct line *lines, int n)
{
	printf("# Calibration\n\n"
	       "Made by `make calibrate`; do not edit. Machines of the second generator, their noise and habits included. Facts that were told, by stated\n"
	       "confidence and group: how many, the confidence stated on average, the share that was right with its standard error (facts of one machine fail\n"
	       "together, so it comes from how machines differ), and by how many errors the two are apart where that is more than two.\n"
	       "\n![stated confidence against share of right answers](calibration.svg)\n\n"
	       "| group | told with | facts | on machines | stated | right | off |\n|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < n; i++) {
		const struct line *l = &lines[i];
		int b = bin_of(l->low + 1e-9);
		double off = (l->right - l->stated) / l->error;
		printf("| %s | %.2f to %.2f | %.0f | %d | %.3f | %.3f ± %.3f |", l->group, l->low,
		       fmin(1, border[b + 1]), l->facts, l->machines, l->stated, l->right, l->error);
		if (fabs(off) > 2)
			printf(" %s by %.0f", off < 0 ? "too sure" : "too modest", fabs(off));
		printf(" |\n");
	}
}

static void print_svg(const struct line *lines, int n)
{
	enum { CELL = 190, ACROSS = 5, PLOT = 140 };
	printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
	       CELL * ACROSS + 20, CELL * ((N_GROUPS + ACROSS - 1) / ACROSS) + 30);
	printf("<!-- made by make calibrate -->\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
	       "<text x=\"10\" y=\"16\">share of right answers (up) against stated confidence (right), both from 0 to 1; bars: two standard errors</text>\n");
	for (int g = 0; g < N_GROUPS; g++) {
		int x = 30 + CELL * (g % ACROSS), y = 40 + CELL * (g / ACROSS);
		printf("<g transform=\"translate(%d,%d)\"><rect width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>"
		       "<line x1=\"0\" y1=\"%d\" x2=\"%d\" y2=\"0\" stroke=\"#bbb\"/><text x=\"4\" y=\"-4\">%s</text>\n",
		       x, y, PLOT, PLOT, PLOT, PLOT, groups[g]);
		for (int i = 0; i < n; i++) {
			const struct line *l = &lines[i];
			if (strcmp(l->group, groups[g]) != 0)
				continue;
			double at = l->stated * PLOT, up = PLOT * (1 - l->right), bar = 2 * l->error * PLOT;
			bool off = l->right < l->stated - 2 * l->error;
			printf("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#555\"/>"
			       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n",
			       at, fmax(0, up - bar), at, fmin(PLOT, up + bar), at, up,
			       2 + fmin(3, log10(1 + l->facts)), off ? "#c33" : "#36c");
		}
		printf("</g>\n");
	}
	printf("</svg>\n");
}

/* ---- the test ---- */

static const struct line *owned(const struct line *lines, int n, const struct line *like)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(lines[i].group, like->group) && fabs(lines[i].low - like->low) < 1e-9)
			return &lines[i];
	return NULL;
}

static int test_bins(const struct survey *s, const struct line *lines, int n)
{
	int failures = 0;
	for (int g = 0; g < N_GROUPS; g++)
		for (int i = 0; i < N_BINS; i++) {
			const struct bin *b = &s->bin[g][i];
			if (b->facts <= 0)
				continue;
			struct line l = line_of(g, i, b);
			const struct line *own = owned(lines, n, &l);
			double wanted = own ? fmin(l.stated, own->right - 2 * own->error) : 0;
			int worth_n = (int)floor(b->machines), k = (int)ceil(l.right * worth_n);
			bool ok = lab_binomial(worth_n, k, wanted) >= surprise;
			printf("%s %s told with %.2f and more: %.3f of %.0f right (%.3f stated, at least %.3f wanted)%s\n",
			       ok ? "ok" : "not ok", l.group, l.low, l.right, l.facts, l.stated, fmax(0, wanted),
			       own ? "" : ": not in the record, make calibrate");
			failures += !ok;
		}
	return failures;
}

int main(int argc, char **argv)
{
	static struct survey s;
	static struct line lines[N_GROUPS * N_BINS];
	int n = read_record(lines, N_GROUPS * N_BINS);
	if (argc > 1 && !strcmp(argv[1], "--page")) {
		print_page(lines, n);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--svg")) {
		print_svg(lines, n);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--machine")) {
		struct xr_machine machine;
		second_machine(&machine, lab_seed());
		machine_write(&machine, stdout);
		return 0;
	}
	if (argc > 1) {
		measure(&s, argc > 2 ? atoi(argv[2]) : 1000);
		print_data(&s);
		return 0;
	}
	int machines = lab_deep(MACHINES);
	printf("# seeds from %" PRIu64 ": XR_SEED=%" PRIu64 " repeats them\n", lab_seed(), lab_seed());
	int broken = measure(&s, machines), failures = rates_compare(rates, "second-own", &s.kinds, NULL);
	failures += test_bins(&s, lines, n);
	printf("%s second generator: none of %d machines breaks the tool\n", broken ? "not ok" : "ok", machines);
	free(s.part);
	return failures > 0 || broken;
}
