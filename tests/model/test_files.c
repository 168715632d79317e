/* SPDX-License-Identifier: MIT */
/* Every machine in machines/, measured: what the file says is found, and nothing is wrong and sure.
 *
 *   test_files [FILE...]   prints TAP; what is wrong or missed beside the truth
 *
 * The dice are the commit's (XR_SEED: others). A file that fails is thrown again twice, and fails where two of
 * the three do.
 */
#include "../lib/lab.h"
#include "../lib/truth.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed_sure_wrong = 0;
static const double wanted_right = 0.9; /* of what was looked for: the noise of these machines is part of them */

struct cover {
	const struct xr_description *d;
	int ids, looked_for;
};

static void count_cover(void *self, const char *id)
{
	struct cover *c = self;
	c->ids++;
	c->looked_for += xr_description_fact(c->d, id) != NULL;
}

static void show(const struct xr_machine *machine, const struct xr_fact *fact, enum verdict v, bool sure)
{
	struct xr_truth truth = xr_model_truth_of(machine, fact->id);
	char *found = fact->value ? json_dumps(fact->value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	char *want = truth.value ? json_dumps(truth.value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
	printf("# %s %s: found %.60s (%.2f%s), truth %.60s%s%s%s%s\n", v == WRONG ? "wrong" : "missed", fact->id,
	       found ? found : "nothing", fact->confidence, sure ? ", sure" : "", want ? want : "none",
	       truth.why ? ": " : "", truth.why ? truth.why : "", fact->reason ? "; it says: " : "",
	       fact->reason ? fact->reason : "");
	free(found);
	free(want);
	xr_truth_release(&truth);
}

static int try_once(const char *path, uint64_t seed)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	int n[4] = {0}, sure_wrong = 0;
	struct xr_description *d = NULL;
	if (!xr_machine_read(&machine, path, &err))
		d = measure_machine(&machine, NULL, 0, seed, &err);
	if (!d) {
		printf("# %s: %s\n", path, err.text);
		return 1;
	}
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		bool sure;
		enum verdict v = judge(&machine, fact, &sure);
		n[v]++;
		sure_wrong += v == WRONG && sure;
		if (v == WRONG || v == MISSED)
			show(&machine, fact, v, sure);
	}
	struct cover cover = {.d = d};
	xr_model_truth_ids(&machine, count_cover, &cover);
	int all = n[RIGHT] + n[WRONG] + n[MISSED];
	bool ok = sure_wrong <= allowed_sure_wrong * n[RIGHT] && n[RIGHT] >= wanted_right * all;
	printf("# %s%s: %d of %d facts right, %d wrong of which %d sure; %d of %d that could be found were looked for\n",
	       path, ok ? "" : " fails", n[RIGHT], all, n[WRONG], sure_wrong, cover.looked_for, cover.ids);
	fflush(stdout);
	xr_description_free(d);
	return !ok;
}

static int try_file(const char *path)
{
	int bad = try_once(path, lab_seed());
	if (bad)
		bad = try_once(path, lab_seed() + 1000) + try_once(path, lab_seed() + 2000) > 0;
	printf("%s %s: what it says is found, and nothing is wrong and sure\n", bad ? "not ok" : "ok", path);
	fflush(stdout);
	return bad;
}

int main(int argc, char **argv)
{
	glob_t files = {0};
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad += try_file(argv[i]);
	if (argc > 1)
		return bad > 0;
	if (glob("machines/*.ini", 0, NULL, &files)) {
		printf("not ok no machines/*.ini\n");
		return 1;
	}
	for (size_t i = 0; i < files.gl_pathc; i++)
		bad += try_file(files.gl_pathv[i]);
	globfree(&files);
	return bad > 0;
}
