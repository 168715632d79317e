/* SPDX-License-Identifier: MIT */
/* What the OS says about this machine, put beside the facts after they were measured.
 *
 * hwloc gathers it from sysfs, CPUID and firmware tables. Nothing here may ever be asked while measuring; that is why
 * the engine calls it last, and micro-benchmarks cannot see it.
 */
#include "engine/claims_cpu.h"
#include "engine/engine.h"

#include <hwloc.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void claim(struct xr_description *d, const char *id, json_t *claimed)
{
	struct xr_fact *fact = xr_description_edit(d, id);
	if (fact && claimed)
		xr_fact_claim(fact, claimed);
	else
		json_decref(claimed);
}

static void claim_count(struct xr_description *d, const char *id, long long value)
{
	if (value > 0)
		claim(d, id, json_integer(value));
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

static const struct {
	hwloc_obj_type_t type;
	const char *name;
} caches[] = {
	{HWLOC_OBJ_L1CACHE, "l1d"}, {HWLOC_OBJ_L1ICACHE, "l1i"}, {HWLOC_OBJ_L2CACHE, "l2"},
	{HWLOC_OBJ_L3CACHE, "l3"},  {HWLOC_OBJ_L4CACHE, "l4"},
};

/* The cache of this kind above the CPU that was measured. */
static hwloc_obj_t cache_of(hwloc_topology_t topology, hwloc_obj_type_t type, int cpu)
{
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology, (unsigned)cpu);
	hwloc_obj_t found = pu ? hwloc_get_ancestor_obj_by_type(topology, type, pu) : NULL;
	return found ? found : hwloc_get_obj_by_type(topology, type, 0);
}

static int cores_under(hwloc_topology_t topology, hwloc_obj_t object)
{
	return hwloc_get_nbobjs_inside_cpuset_by_type(topology, object->cpuset, HWLOC_OBJ_CORE);
}

static void claim_caches(struct xr_description *d, hwloc_topology_t topology, int cpu)
{
	int levels = 0;
	char id[64];
	for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
		hwloc_obj_t cache = cache_of(topology, caches[i].type, cpu);
		if (!cache || !cache->attr)
			continue;
		const struct hwloc_cache_attr_s *attr = &cache->attr->cache;
		levels += caches[i].type != HWLOC_OBJ_L1ICACHE;
		snprintf(id, sizeof id, "cache.%s.capacity", caches[i].name);
		claim_count(d, id, (long long)attr->size);
		snprintf(id, sizeof id, "cache.%s.line", caches[i].name);
		claim_count(d, id, attr->linesize);
		snprintf(id, sizeof id, "cache.%s.ways", caches[i].name);
		if (attr->associativity == -1 && attr->linesize) /* fully associative */
			claim_count(d, id, (long long)(attr->size / attr->linesize));
		else
			claim_count(d, id, attr->associativity);
		snprintf(id, sizeof id, "cache.%s.shared_by", caches[i].name);
		claim_count(d, id, cores_under(topology, cache));
		snprintf(id, sizeof id, "cache.%s.unified", caches[i].name);
		claim(d, id, json_boolean(attr->type == HWLOC_OBJ_CACHE_UNIFIED));
		const char *inclusive = hwloc_obj_get_info_by_name(cache, "Inclusive");
		snprintf(id, sizeof id, "cache.%s.inclusion", caches[i].name);
		if (inclusive && *inclusive == '1') /* "0" leaves exclusive and neither open: no claim */
			claim(d, id, json_string("inclusive"));
	}
	claim_count(d, "cache.levels", levels);
}

/* ---- threads and memory ------------------------------------------------------------------------------------------ */

/* Lists of CPUs (by the OS's numbers) that share an object of this type. */
static json_t *groups(hwloc_topology_t topology, hwloc_obj_type_t type)
{
	json_t *list = json_array();
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(topology, type, object))) {
		json_t *group = json_array();
		int cpu;
		hwloc_bitmap_foreach_begin(cpu, object->cpuset) json_array_append_new(group, json_integer(cpu));
		hwloc_bitmap_foreach_end();
		json_array_append_new(list, group);
	}
	return list;
}

static void claim_threads(struct xr_description *d, hwloc_topology_t topology)
{
	int threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
	int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
	claim_count(d, "threads.logical", threads);
	claim_count(d, "threads.cores", cores);
	if (cores > 0 && threads % cores == 0)
		claim_count(d, "threads.smt", threads / cores);
	if (cores > 0)
		claim(d, "threads.siblings", groups(topology, HWLOC_OBJ_CORE));
	claim_count(d, "topology.numa_nodes", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
}

static void claim_memory(struct xr_description *d, hwloc_topology_t topology)
{
	const long page_bytes = sysconf(_SC_PAGESIZE);
	hwloc_obj_t node = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, 0);
	claim_count(d, "memory.page_size", page_bytes);
	for (unsigned i = 0; node && node->attr && i < node->attr->numanode.page_types_len; i++) {
		hwloc_uint64_t size = node->attr->numanode.page_types[i].size;
		if (size > (hwloc_uint64_t)page_bytes && size < (64u << 20))
			claim_count(d, "memory.huge_page_size", (long long)size);
	}
}

static void claim_frequency(struct xr_description *d, hwloc_topology_t topology)
{
	int kinds = hwloc_cpukinds_get_nr(topology, 0);
	double best_mhz = 0;
	for (int kind = 0; kind < kinds; kind++) {
		unsigned n_infos = 0;
		struct hwloc_info_s *infos = NULL;
		int efficiency;
		if (hwloc_cpukinds_get_info(topology, (unsigned)kind, NULL, &efficiency, &n_infos, &infos, 0))
			continue;
		for (unsigned i = 0; i < n_infos; i++)
			if (!strcmp(infos[i].name, "FrequencyMaxMHz") && atof(infos[i].value) > best_mhz)
				best_mhz = atof(infos[i].value);
	}
	if (best_mhz > 0)
		claim(d, "cpu.frequency", json_real(best_mhz * 1e6));
}

/* The tick is the step of the clock that it advances. A thread's slice is looked at when the tick comes, so it lasts
 * one tick at least; the OS tells it in whole ticks, and those shorter than one as none. */
static void claim_scheduler(struct xr_description *d)
{
	struct timespec tick = {0, 0}, slice = {0, 0};
#ifdef CLOCK_MONOTONIC_COARSE
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return;
#endif
	double tick_s = (double)tick.tv_sec + (double)tick.tv_nsec * 1e-9, slice_s = 0;
	if (!sched_rr_get_interval(0, &slice))
		slice_s = (double)slice.tv_sec + (double)slice.tv_nsec * 1e-9;
	if (!(tick_s > 0))
		return;
	claim(d, "os.tick", json_real(tick_s));
	claim(d, "os.timeslice", json_real(slice_s > tick_s ? slice_s : tick_s));
}

/* Huge pages: the kernel gives them, of itself or where asked for. Whether they are any is another matter. */
static void claim_huge_pages(struct xr_description *d)
{
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
	char line[128] = "";
	if (!file)
		return;
	if (fgets(line, sizeof line, file))
		claim(d, "memory.huge_pages", json_boolean(!strstr(line, "[never]")));
	fclose(file);
}

/* A claim that the machine does not honour is worth a word on the fact itself, behind what it says already. */
static void say_what_differs(struct xr_description *d)
{
	for (size_t i = 0; i < xr_description_count(d); i++) {
		struct xr_fact *fact = xr_description_edit(d, xr_description_at(d, i)->id);
		size_t n = strlen(fact->id);
		if (fact->status != XR_OK || !json_is_number(fact->claimed) || !json_is_number(fact->value))
			continue;
		if (n < 9 || strncmp(fact->id, "cache.", 6) || strcmp(fact->id + n - 9, ".capacity"))
			continue;
		double ratio = json_number_value(fact->claimed) / json_number_value(fact->value);
		char *before = fact->reason ? strdup(fact->reason) : NULL;
		const char *said = before ? before : "", *then = before ? "; " : "";
		/* whose doing it can be is the report's business: it knows whether there is a hypervisor */
		if (ratio >= 2)
			xr_fact_note(fact, "%s%sthe OS claims %.3g times as much", said, then, ratio);
		else if (ratio <= 0.5)
			xr_fact_note(fact, "%s%sthe OS claims 1/%.3g of it", said, then, 1 / ratio);
		free(before);
	}
}

void xr_claims_add(struct xr_description *d, const struct xr_target_info *info)
{
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology))
		return;
	/* the CPUs we may use, by affinity and control group: of others nothing was measured */
	hwloc_topology_set_flags(topology,
	                         HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (!hwloc_topology_load(topology)) {
		claim_caches(d, topology, info->n_cpus > 0 ? info->cpu_ids[0] : 0);
		claim_threads(d, topology);
		claim_memory(d, topology);
		claim_frequency(d, topology);
		xr_claims_cpu(d);
		claim_scheduler(d);
		claim_huge_pages(d);
		say_what_differs(d);
	}
	hwloc_topology_destroy(topology);
}
