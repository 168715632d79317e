/* SPDX-License-Identifier: MIT */
/* Fitting: coordinate descent. Operations get their ports one after the other, each the best set given those of the
 * others; ports that serve the same operations are all alike, so only how many of them counts. Again and again until
 * nothing improves, from several random orders, and the best end is kept. Times of pairs depend on a set only by its
 * size and its overlap with the other, so there are few local optima.
 */
#include "method/ports.h"

#include <math.h>

enum { RESTARTS = 8, SWEEPS = 12, APART_MOST = 4, TRIES = 20000 };
static const double worst_error = 0.3;   /* schedulers are not ideal: no pair may bend the whole */
static const double share_price = 0.03;  /* per other operation on the same ports: errors below that are noise */
static const double wide_price = 0.008;  /* for a unit that is taken longer than one cycle by an operation */
static const double apart_price = 0.006; /* per cycle on its ports */
static const double slow_cycles = 1.5;   /* only operations slower than that can have a unit apart */

int xr_port_count(uint64_t ports)
{
	int n = 0;
	for (; ports; ports &= ports - 1)
		n++;
	return n;
}

double xr_port_busy(const struct xr_port_op *op)
{
	return op->apart ? op->apart : op->cycles * xr_port_count(op->ports);
}

double xr_ports_predict(const struct xr_ports *model, const struct xr_mix *mix)
{
	double cycles = 0, slots = 0;
	for (int i = 0; i < mix->n; i++) {
		slots += mix->count[i] * model->op[mix->op[i]].slots;
		cycles = fmax(cycles, mix->count[i] * model->op[mix->op[i]].cycles);
	}
	if (model->width > 0)
		cycles = fmax(cycles, slots / model->width);
	for (unsigned subset = 1; subset < 1u << mix->n; subset++) {
		uint64_t ports = 0;
		double work = 0;
		for (int i = 0; i < mix->n; i++)
			if (subset >> i & 1)
				ports |= model->op[mix->op[i]].ports;
		for (int i = 0; i < mix->n; i++) {
			const struct xr_port_op *op = &model->op[mix->op[i]];
			if (op->ports && !(op->ports & ~ports))
				work += mix->count[i] * xr_port_busy(op);
		}
		if (ports)
			cycles = fmax(cycles, work / xr_port_count(ports));
	}
	return cycles;
}

double xr_ports_hits(const struct xr_ports *model, const struct xr_mix *mix, size_t n, double tolerance)
{
	size_t hits = 0;
	for (size_t i = 0; i < n; i++)
		hits += fabs(xr_ports_predict(model, &mix[i]) - mix[i].cycles) <= tolerance * mix[i].cycles;
	return n ? (double)hits / (double)n : 1;
}

static double error_of(const struct xr_ports *model, const struct xr_mix *mix)
{
	return fmin(fabs(xr_ports_predict(model, mix) / mix->cycles - 1), worst_error);
}

/* The fewest ports that let an operation be as quick as it is. */
static int least_ports(const struct xr_port_op *op)
{
	int n = (int)floor(1 / op->cycles + 0.25);
	return n < 1 ? 1 : n > XR_PORTS ? XR_PORTS : n;
}

static double price_of(const struct xr_ports *model, int i)
{
	const struct xr_port_op *op = &model->op[i];
	int more = xr_port_count(op->ports) - least_ports(op);
	return apart_price * op->apart + (more > 0 && !op->apart ? wide_price * more : 0);
}

static bool is_placed(const struct xr_port_op *op)
{
	return op->ports || op->apart;
}

/* Of two operations. */
static double share_price_of(const struct xr_ports *model, int i, int j)
{
	return i != j && model->op[i].ports & model->op[j].ports ? share_price : 0;
}

/* Everything that depends on operation i, as far as the others have their ports. */
static double cost_of(const struct xr_ports *model, const struct xr_mix *mix, size_t n, int i)
{
	double cost = price_of(model, i);
	for (int j = 0; j < model->n_ops; j++)
		cost += share_price_of(model, i, j);
	for (size_t k = 0; k < n; k++) {
		int other = mix[k].op[0] == i ? mix[k].op[1] : mix[k].op[0];
		if ((mix[k].op[0] == i || mix[k].op[1] == i) && is_placed(&model->op[other]))
			cost += error_of(model, &mix[k]);
	}
	return cost;
}

static double whole_cost(const struct xr_ports *model, const struct xr_mix *mix, size_t n)
{
	double cost = 0;
	for (int i = 0; i < model->n_ops; i++) {
		cost += price_of(model, i);
		for (int j = 0; j < i; j++)
			cost += share_price_of(model, i, j);
	}
	for (size_t k = 0; k < n; k++)
		cost += error_of(model, &mix[k]);
	return cost;
}

/* Ports that serve the same operations, apart from one. */
struct alike {
	uint64_t ports[XR_PORTS];
	int n;
};

static struct alike find_alike(const struct xr_ports *model, int except)
{
	struct alike alike = {.n = 0};
	uint32_t served[XR_PORTS] = {0}, seen[XR_PORTS];
	for (int p = 0; p < XR_PORTS; p++) {
		int class = 0;
		for (int i = 0; i < model->n_ops; i++)
			if (i != except && model->op[i].ports >> p & 1)
				served[p] |= 1u << i;
		while (class < alike.n && seen[class] != served[p])
			class ++;
		if (class == alike.n) {
			seen[alike.n] = served[p];
			alike.ports[alike.n++] = 0;
		}
		alike.ports[class] |= UINT64_C(1) << p;
	}
	return alike;
}

struct descent {
	struct xr_ports *model;
	const struct xr_mix *mix;
	size_t n;
	int op;          /* at work */
	int least, most; /* ports it may have */
	int tries;       /* sets still to try: cores with very many units get what can be had */
	struct alike alike;
	struct xr_port_op best;
	double cost;
};

/* More ports than an operation needs to be as quick as it is: only as those of another operation, else it is an
 * excuse. */
static bool may_be_wide(const struct descent *d, uint64_t set)
{
	for (int i = 0; i < d->model->n_ops; i++)
		if (i != d->op && !d->model->op[i].apart && set == d->model->op[i].ports)
			return true;
	return false;
}

static void try_set(struct descent *d, uint64_t set)
{
	struct xr_port_op *op = &d->model->op[d->op];
	bool wide = xr_port_count(set) > d->least;
	if (wide && !may_be_wide(d, set))
		return;
	for (int apart = 0; apart <= APART_MOST; apart++) {
		if (apart ? op->cycles < slow_cycles || apart > op->cycles * xr_port_count(set)
		          : xr_port_count(set) < d->least)
			continue;
		op->ports = set;
		op->apart = apart;
		double cost = cost_of(d->model, d->mix, d->n, d->op);
		if (cost < d->cost - 1e-9) {
			d->cost = cost;
			d->best = *op;
		}
	}
}

/* So many of each class of ports, in every way. */
static void try_sets(struct descent *d, int class, uint64_t set)
{
	if (d->tries <= 0)
		return;
	if (class == d->alike.n) {
		d->tries--;
		try_set(d, set);
		return;
	}
	try_sets(d, class + 1, set);
	for (uint64_t rest = d->alike.ports[class]; rest && xr_port_count(set) < d->most; rest &= rest - 1) {
		set |= rest & ~(rest - 1);
		try_sets(d, class + 1, set);
	}
}

/* Gives operation i its best ports. True: that is an improvement. */
static bool improve(struct xr_ports *model, const struct xr_mix *mix, size_t n, int i)
{
	struct xr_port_op *op = &model->op[i], before = *op;
	struct descent d = {.model = model, .mix = mix, .n = n, .op = i, .tries = TRIES, .best = *op};
	d.least = least_ports(op);
	d.most = d.least + (op->cycles >= 0.9 ? 3 : 1);
	d.alike = find_alike(model, i);
	d.cost = is_placed(op) ? cost_of(model, mix, n, i) : INFINITY;
	try_sets(&d, 0, 0);
	*op = d.best;
	return before.ports != op->ports || before.apart != op->apart;
}

void xr_ports_fit(struct xr_ports *model, const struct xr_mix *mix, size_t n, struct xr_rng *rng)
{
	struct xr_ports best = *model;
	double least = INFINITY;

	for (int restart = 0; restart < RESTARTS; restart++) {
		int order[XR_PORT_OPS];
		for (int i = 0; i < model->n_ops; i++) {
			model->op[i].ports = 0;
			model->op[i].apart = 0;
			order[i] = i;
		}
		for (int i = model->n_ops; i > 1; i--) {
			int j = (int)xr_rng_below(rng, (uint64_t)i), swap = order[i - 1];
			order[i - 1] = order[j];
			order[j] = swap;
		}
		bool better = true;
		for (int sweep = 0; sweep < SWEEPS && better; sweep++) {
			better = false;
			for (int i = 0; i < model->n_ops; i++)
				better |= improve(model, mix, n, order[i]);
		}
		double cost = whole_cost(model, mix, n);
		if (cost < least) {
			least = cost;
			best = *model;
		}
	}
	*model = best;
}
