/* SPDX-License-Identifier: MIT */
#include "engine/plan.h"

#include <string.h>

static bool is_word(const struct xr_micro *micro, const char *text, size_t len)
{
	if (!micro->word || (len == 1 && *text == '*'))
		return true;
	for (int i = 0; micro->word(i); i++)
		if (strlen(micro->word(i)) == len && !strncmp(micro->word(i), text, len))
			return true;
	return false;
}

/* Do the selector's words where the pattern has `*` stand there at all? */
static bool fills_in(const struct xr_micro *micro, const char *find, const char *sel)
{
	for (;;) {
		size_t len = strcspn(sel, ".");
		if (*find == '*' && !is_word(micro, sel, len))
			return false;
		find += strcspn(find, ".");
		sel += len;
		if (!*find++ || !*sel++)
			return true;
	}
}

bool xr_micro_finds(const struct xr_micro *micro, const char *sel)
{
	for (const char *const *find = micro->finds; find && *find; find++)
		if (xr_id_matches(*find, sel) && fills_in(micro, *find, sel))
			return true;
	return false;
}

static bool answers(const struct xr_micro *micro, const char *sel)
{
	return !strcmp(micro->id, sel) || xr_micro_finds(micro, sel);
}

static size_t count_finds(const struct xr_micro *micro, const char *sel)
{
	size_t n = 0;
	for (const char *const *find = micro->finds; find && *find; find++)
		n += xr_id_matches(*find, sel) && fills_in(micro, *find, sel);
	return n;
}

/* How many facts under a selector the micro-benchmark must find to be asked. A family ("cache") asks all who find
 * any of it. A part of one ("cache.l1d") asks who finds most of it, and those who find half as much: what others
 * add to it, at a high price (who shares it), is asked for by name. */
static size_t least_finds(const struct xr_micro *const *table, const char *sel)
{
	size_t most = 1;
	for (size_t i = 0; strchr(sel, '.') && table[i]; i++) {
		size_t n = count_finds(table[i], sel);
		most = n > most ? n : most;
	}
	return (most + 1) / 2;
}

static bool is_fact(const char *need)
{
	return strchr(need, '.') != NULL;
}

static size_t table_size(const struct xr_micro *const *table)
{
	size_t n = 0;
	while (table[n])
		n++;
	return n;
}

/* ---- did you mean ---------------------------------------------------------------------------------------------- */

struct words {
	struct xr_arena *arena;
	const char **word;
	size_t n, room;
};

static void add_word(struct words *w, const char *text)
{
	if (w->n == w->room) {
		const char **more = xr_arena_array(w->arena, const char *, w->room ? w->room * 2 : 256);
		if (w->n)
			memcpy(more, w->word, w->n * sizeof *more);
		w->room = w->room ? w->room * 2 : 256;
		w->word = more;
	}
	w->word[w->n++] = text;
}

static void add_id(struct words *w, const char *id)
{
	for (const char *dot = strchr(id, '.'); dot; dot = strchr(dot + 1, '.'))
		add_word(w, xr_arena_printf(w->arena, "%.*s", (int)(dot - id), id));
	add_word(w, id);
}

/* All ids, their prefixes of whole words, and the micro-benchmarks' own: what a person could have meant. */
static int unknown_selector(struct xr_arena *arena, const struct xr_micro *const *table, const char *sel,
                            struct xr_error *err)
{
	struct words known = {.arena = arena};
	for (size_t i = 0; table[i]; i++) {
		add_word(&known, table[i]->id);
		for (const char *const *find = table[i]->finds; find && *find; find++) {
			const char *star = strchr(*find, '*');
			if (!star || !table[i]->word)
				add_id(&known, *find);
			for (int k = 0; star && table[i]->word && table[i]->word(k); k++)
				add_id(&known, xr_arena_printf(arena, "%.*s%s%s", (int)(star - *find), *find,
				                               table[i]->word(k), star + 1));
		}
	}
	const char *near = xr_suggest(sel, known.word, known.n);
	if (near)
		return xr_fail(err, XR_EXIT_USE, "no fact is called '%s'; did you mean '%s'?", sel, near);
	return xr_fail(err, XR_EXIT_USE, "no fact is called '%s'; `xray list` shows what there is", sel);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

struct choice {
	bool chosen, asked, whole, placed;
	const char *missing;
};

/* Takes in what the chosen one needs, and what those need, to the last. */
static void choose(struct xr_order *order, const struct xr_micro *const *table, struct choice *choice, size_t i)
{
	if (choice[i].chosen)
		return;
	choice[i].chosen = true;
	for (const char *const *need = table[i]->needs; need && *need; need++) {
		bool found = false;
		if (is_fact(*need))
			order->needed[order->n_needed++] = *need;
		for (size_t j = 0; table[j]; j++) {
			bool fits = is_fact(*need) ? xr_micro_finds(table[j], *need) : !strcmp(table[j]->id, *need);
			if (!fits)
				continue;
			found = true;
			choose(order, table, choice, j);
			choice[j].whole |= !is_fact(*need);
		}
		if (!found)
			choice[i].missing = *need;
	}
}

static bool ready(const struct xr_micro *const *table, const struct choice *choice, size_t i)
{
	for (const char *const *need = table[i]->needs; need && *need; need++)
		for (size_t j = 0; table[j]; j++) {
			bool fits = is_fact(*need) ? xr_micro_finds(table[j], *need) : !strcmp(table[j]->id, *need);
			if (fits && choice[j].chosen && !choice[j].placed)
				return false;
		}
	return true;
}

/* What most people ask for, in their order, by what it finds; the rest comes after. */
static const char *const main_facts[] = {
	"timer",          "cpu.frequency",      "cache.l1d.capacity", "tlb.d1.entries", "cache.l2.capacity",
	"memory.latency", "op.add.i32.latency", "cache.l1i.capacity", "threads.cores"};
enum { N_MAIN = sizeof main_facts / sizeof *main_facts };

static size_t rank_of(const struct xr_micro *micro)
{
	size_t i = 0;
	while (i < N_MAIN && !xr_micro_finds(micro, main_facts[i]))
		i++;
	return i;
}

bool xr_micro_is_main(const struct xr_micro *micro)
{
	return rank_of(micro) < N_MAIN;
}

/* What the micro-benchmark is worth: of itself, or to those that need it. */
static size_t worth(const struct xr_micro *const *table, const struct choice *choice, size_t i, int depth)
{
	size_t best = rank_of(table[i]);
	for (size_t j = 0; table[j] && depth < 8; j++)
		for (const char *const *need = table[j]->needs; need && *need && choice[j].chosen && !choice[j].placed;
		     need++) {
			bool fits = is_fact(*need) ? xr_micro_finds(table[i], *need) : !strcmp(table[i]->id, *need);
			size_t others = fits && j != i ? worth(table, choice, j, depth + 1) : best;
			best = others < best ? others : best;
		}
	return best;
}

/* Cheap ones early: whoever interrupts gets most facts for the time. Pictures last: they decide nothing. */
static bool comes_before(const struct xr_micro *a, size_t a_rank, const struct xr_micro *b, size_t b_rank)
{
	if (a->late != b->late)
		return b->late;
	return a_rank < b_rank || (a_rank == b_rank && a->cost_s < b->cost_s);
}

static int place(struct xr_order *order, const struct xr_micro *const *table, struct choice *choice, size_t n_chosen,
                 bool hurried, struct xr_error *err)
{
	size_t *rank = xr_arena_array(order->arena, size_t, table_size(table) + 1);
	for (size_t i = 0; hurried && table[i]; i++)
		rank[i] = worth(table, choice, i, 0);
	while (order->n < n_chosen) {
		long best = -1;
		for (size_t i = 0; table[i]; i++)
			if (choice[i].chosen && !choice[i].placed && ready(table, choice, i) &&
			    (best < 0 || comes_before(table[i], rank[i], table[best], rank[best])))
				best = (long)i;
		if (best < 0)
			return xr_fail(err, XR_EXIT_USE, "micro-benchmarks need each other in a circle");
		choice[best].placed = true;
		order->step[order->n++] = (struct xr_step){
			.micro = table[best],
			.asked = choice[best].asked,
			.whole = choice[best].whole,
			.missing = choice[best].missing,
		};
	}
	return 0;
}

static size_t count_needs(const struct xr_micro *const *table)
{
	size_t n = 0;
	for (size_t i = 0; table[i]; i++)
		for (const char *const *need = table[i]->needs; need && *need; need++)
			n++;
	return n;
}

int xr_order_make(struct xr_order *order, struct xr_arena *arena, const struct xr_micro *const *table,
                  const char *const *select, size_t n_select, bool hurried, struct xr_error *err)
{
	size_t n_table = table_size(table), n_chosen = 0;
	struct choice *choice = xr_arena_array(arena, struct choice, n_table + 1);
	*order = (struct xr_order){
		.arena = arena,
		.step = xr_arena_array(arena, struct xr_step, n_table + 1),
		.select = select,
		.n_select = n_select,
		.needed = xr_arena_array(arena, const char *, count_needs(table) + 1),
	};
	for (size_t i = 0; i < n_table && !n_select; i++) {
		choose(order, table, choice, i);
		choice[i].asked = choice[i].whole = true;
	}
	for (size_t s = 0; s < n_select; s++) {
		bool found = false;
		size_t least = least_finds(table, select[s]);
		for (size_t i = 0; i < n_table; i++) {
			if (!answers(table[i], select[s]) ||
			    (strcmp(table[i]->id, select[s]) != 0 && count_finds(table[i], select[s]) < least))
				continue;
			found = true;
			choose(order, table, choice, i);
			choice[i].asked = true;
			choice[i].whole |= !strcmp(table[i]->id, select[s]);
		}
		if (!found)
			return unknown_selector(arena, table, select[s], err);
	}
	for (size_t i = 0; i < n_table; i++)
		n_chosen += choice[i].chosen;
	return place(order, table, choice, n_chosen, hurried, err);
}

bool xr_order_asked(const struct xr_order *order, const struct xr_step *step, const char *id)
{
	if (!order->n_select)
		return true;
	for (size_t s = 0; s < order->n_select; s++)
		if (!strcmp(step->micro->id, order->select[s]) || xr_id_matches(id, order->select[s]))
			return true;
	return false;
}

bool xr_order_wants(const struct xr_order *order, const struct xr_step *step, const char *id)
{
	if (step->whole || xr_order_asked(order, step, id))
		return true;
	for (size_t i = 0; i < order->n_needed; i++)
		if (xr_id_matches(id, order->needed[i]))
			return true;
	return false;
}
