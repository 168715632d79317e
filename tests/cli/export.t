# SPDX-License-Identifier: MIT
# A description in the forms of other programs, exactly.

$ cp $TOP/tests/data/icelake.json m.json; xray export m.json --to gcc
--param=l1-cache-size=48 --param=l1-cache-line-size=64 --param=l2-cache-size=1280 --param=destructive-interference-size=64 --param=constructive-interference-size=64 --param=simultaneous-prefetches=12
$ command -v gcc > /dev/null || exit 0; echo 'int x;' > x.c; gcc $(xray export m.json --to gcc) -c x.c
$ xray export m.json --to glibc
GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=49152:glibc.cpu.x86_shared_cache_size=3250585:glibc.cpu.x86_non_temporal_threshold=2437938
$ xray export m.json --to openblas
OPENBLAS_NUM_THREADS=1
OPENBLAS_L2_SIZE=1280

# What is not sure enough is not used. Here the third cache is not, and the second is not the last for all that: without a
# third one in sight it is.
$ xray export m.json --to glibc --min-confidence 0.95
GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=49152
$ sed 's/"cache.l3.capacity"/"cache.x3.capacity"/; s/"cache.levels": {"status": "ok", "value": 3/"cache.levels": {"status": "ok", "value": 2/' m.json > two.json; xray export two.json --to glibc --min-confidence 0.95
GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=49152:glibc.cpu.x86_shared_cache_size=1310720:glibc.cpu.x86_non_temporal_threshold=983040
$ sed 's/"cache.l3.capacity"/"cache.x3.capacity"/' m.json > three.json; grep -c '"cache.levels": .*"value": 3' three.json; xray export three.json --to glibc --min-confidence 0.95
1
GLIBC_TUNABLES=glibc.cpu.x86_data_cache_size=49152

# 48 KiB in 12 ways, 20 ways of 64 KiB behind them, 32 registers of 8 doubles, two multiply-adds a cycle of 4 cycles.
$ xray export m.json --to blis | grep '_D '
*define BLIS_DEFAULT_MR_D 8
*define BLIS_DEFAULT_NR_D 16
*define BLIS_DEFAULT_KC_D 192
*define BLIS_DEFAULT_MC_D 768
*define BLIS_DEFAULT_NC_D 1056

# Of an outer cache that could not be measured, what the OS claims is better than a guess; a comment says so.
$ sed 's/"cache.l2.capacity": {"status": "ok", "value": 1310720, "unit": "bytes", "confidence": 0.99, "method": "chain"/"cache.l2.capacity": {"status": "failed", "reason": "too noisy"/' m.json > no2.json; xray export no2.json --to blis | grep 'L2\|MC_D'
/* The size of L2 could not be measured: as the OS claims. */
*define BLIS_DEFAULT_MC_D 768
$ sed 's/"cache.l1d.capacity": {"status": "ok", "value": 49152, "unit": "bytes", "confidence": 0.99, "method": "chain"/"cache.l1d.capacity": {"status": "failed", "reason": "too noisy"/' m.json > no1.json; xray export no1.json --to blis | grep _D
2| xray: *
? 1

$ xray export m.json --to cmake | grep 'CACHE_L1D\|SIBLINGS'
set(XRAY_CACHE_L1D_CAPACITY 49152)
set(XRAY_CONF_CACHE_L1D_CAPACITY 99)
set(XRAY_CACHE_L1D_WAYS 12)
set(XRAY_CONF_CACHE_L1D_WAYS 99)
set(XRAY_CACHE_L1D_LINE 64)
set(XRAY_CONF_CACHE_L1D_LINE 99)
set(XRAY_CACHE_L1D_LATENCY 5)
set(XRAY_CONF_CACHE_L1D_LATENCY 99)
set(XRAY_CACHE_L1D_POLICY "plru")
set(XRAY_CONF_CACHE_L1D_POLICY 80)
set(XRAY_THREADS_SIBLINGS "{0 1}")
set(XRAY_CONF_THREADS_SIBLINGS 99)
$ xray export m.json --to csv | sed -n '1p; /^cache.l3/p; /^threads.sib/p'
id,status,value,unit,confidence,claimed,method,reason
cache.l3.capacity,ok,3250585,bytes,0.92,50331648,change points,"the OS claims 15.5 times as much: a partition, neighbours or the hypervisor may take the rest"
cache.l3.latency,ok,74.6,cycles,0.95,,chain,
cache.l3.line,ok,64,bytes,0.99,64,chain,
cache.l3.ways,unreliable,,,,,,a hashed cache does not show its ways
threads.siblings,ok,"[[0,1]]",,0.99,"[[0],[1]]",chain,
$ xray export m.json --to markdown | sed -n '1p; 3,6p; /cache.l3.cap/p'
*# Intel(R) Xeon(R) Processor @ 2.80GHz
| fact | value | sure | OS says |
|---|---|---|---|
| timer.resolution | 1 ns | 99 % |  |
| timer.overhead | 16.3 ns | 99 % |  |
| cache.l3.capacity | 3.10 MiB | 92 % | 48 MiB |
$ xray export m.json --to prometheus | grep 'l1d.cap'
xray_fact{id="cache.l1d.capacity",unit="bytes"} 49152
xray_fact_confidence{id="cache.l1d.capacity",unit="bytes"} 0.99
xray_fact_claimed{id="cache.l1d.capacity",unit="bytes"} 49152
$ xray export m.json --to roofline | tr -d ' \n'
{"empirical":{"gflops":{"data":[["FP64GFLOPs",111.489],["FP32GFLOPs",222.978]]},"gbytes":{"data":[["DRAM",18.2]]},"metadata":{"CPU":"Intel(R)Xeon(R)Processor@2.80GHz","TOOL":"xray"}}}
$ xray export m.json --to kerncraft | sed -n '/level: L2/,/latency/p'
- level: L2
  size per group: 1310720 B
  groups: 1
  cores per group: 1
  threads per group: 1
  cache per group:
    sets: 1280
    ways: 16  # measured: 20, and sets of as many lines
    cl_size: 64
    write_allocate: true
    write_back: true
    replacement_policy: LRU  # measured: "srrip"
    load_from: L3
    store_to: L3
  latency: 14.1 cy
# FLOPs of a fused multiply-add are two a lane, as in kerncraft's own files.
$ xray export m.json --to kerncraft | grep 'DP:'
  DP: {total: 31.9, ADD: 16, MUL: 16, FMA: 31.9}
# What kerncraft demands of a machine file: a version it takes, policies that its simulator knows, a power of two of ways and
# no write-through with write-allocate, streams and results.
$ xray export $TOP/tests/data/genoa.json --to kerncraft -o k.yml; grep -c '^kerncraft version: 0\.8\.4$' k.yml; grep replacement_policy k.yml | grep -cv 'replacement_policy: \(LRU\|FIFO\|RR\)\( *# measured: "[a-z0-9_]*"\)*$'; sed -n '/^benchmarks/,$p' k.yml
1
0
benchmarks:
  kernels:
    load:
      FLOPs per iteration: 0
      read streams: {bytes: 8.00 B, streams: 1}
      read+write streams: {bytes: 0.00 B, streams: 0}
      write streams: {bytes: 0.00 B, streams: 0}
    copy:
      FLOPs per iteration: 0
      read streams: {bytes: 8.00 B, streams: 1}
      read+write streams: {bytes: 0.00 B, streams: 0}
      write streams: {bytes: 8.00 B, streams: 1}
  measurements:
    L2:
      1:
        threads per core: 1
        cores: [1]
        results:
          load: [118.32 GB/s]
          copy: [118.60 GB/s]
$ echo '{"schema": 1, "facts": {"cpu.frequency": {"status": "ok", "value": 1e9, "unit": "Hz", "confidence": 0.99}, "cache.l1d.capacity": {"status": "ok", "value": 49152, "unit": "bytes", "confidence": 0.99}, "cache.l1d.line": {"status": "ok", "value": 64, "unit": "bytes", "confidence": 0.99}, "cache.l1d.ways": {"status": "ok", "value": 12, "confidence": 0.99}, "cache.l1d.write_back": {"status": "ok", "value": false, "confidence": 0.99}, "cache.l1d.write_allocate": {"status": "ok", "value": true, "confidence": 0.99}, "threads.cores": {"status": "ok", "value": 8, "confidence": 0.99}, "topology.numa_nodes": {"status": "ok", "value": 2, "confidence": 0.99}}}' > w.json; xray export w.json --to kerncraft | grep 'NUMA\|sets:\|ways:\|write_'
NUMA domains per socket: 2
cores per NUMA domain: 4
    sets: 96
    ways: 8  # measured: 12, and sets of as many lines
    write_allocate: false
    write_back: false
$ for p in fifo random plru; do sed "s/srrip/$p/" m.json > p.json; xray export p.json --to kerncraft | grep "\"$p\""; done
    replacement_policy: FIFO  # measured: "fifo"
    replacement_policy: RR  # measured: "random"
    replacement_policy: LRU  # measured: "plru"
    replacement_policy: LRU  # measured: "plru"
$ xray export m.json --to hwloc | grep -c '<object type="L2Cache".*cache_size="1310720" depth="2" cache_linesize="64" cache_associativity="20"'
1
$ xray export m.json --to hwloc -o m.xml && grep -o 'MemoryModeBandwidth\|name="Bandwidth"' m.xml | head -n 1
name="Bandwidth"

# hwloc reads it again, without a word of complaint: caches, memory attributes, distances. How much memory there is was not measured.
$ printf 'Machine + Package L#0\n  NUMANode L#0 (P#0)\n  L3 L#0 (3174KB) + L2 L#0 (1280KB) + L1d L#0 (48KB) + L1i L#0 (32KB) + Core L#0\n    PU L#0 (P#0)\n    PU L#1 (P#1)\n' > want
$ command -v lstopo-no-graphics > /dev/null || exit 0; HWLOC_XML_VERBOSE=1 lstopo-no-graphics -i m.xml --of console | diff want -
$ command -v lstopo-no-graphics > /dev/null || exit 0; lstopo-no-graphics -i m.xml --memattrs | grep -c '= 18200 from\|= 112 from' | grep -qx 2
$ command -v lstopo-no-graphics > /dev/null || exit 0; for f in zen4 genoa; do xray export $TOP/tests/data/$f.json --to hwloc -o $f.xml; HWLOC_XML_VERBOSE=1 lstopo-no-graphics -i $f.xml --of console > $f.txt && grep -q 'L1d L#1 (32KB)' $f.txt; lstopo-no-graphics -i $f.xml --distances | grep -c 'XRayLatency/ps\|XRayBandwidth/MBps' | grep -qx 2; done

# A matrix with other CPUs than rows is no matrix.
$ xray export $TOP/tests/data/zen4.json --to hwloc | grep -c 'name="XRayLatency'; sed 's/"cpus": \[0, 1\], "rows"/"cpus": [0, 1, 0], "rows"/' $TOP/tests/data/zen4.json > o.json; xray export o.json --to hwloc | grep -c distances
1
0
? 1

# Siblings are not neighbours by number, and one core has none.
$ echo '{"schema": 1, "facts": {"threads.cores": {"status": "ok", "value": 3, "confidence": 0.97}, "threads.logical": {"status": "ok", "value": 5, "confidence": 0.97}, "threads.siblings": {"status": "ok", "value": [[0, 3], [1, 4], [2]], "confidence": 0.97}}}' > h.json; xray export h.json --to hwloc | grep -o 'type="\(Core\|PU\)" os_index="[0-9]*"'
type="Core" os_index="0"
type="PU" os_index="0"
type="PU" os_index="3"
type="Core" os_index="1"
type="PU" os_index="1"
type="PU" os_index="4"
type="Core" os_index="2"
type="PU" os_index="2"
$ for s in '[[0, 0], [1, 4], [2]]' '[[0, 3], [1, 4]]' '[[0, 99999999], [1, 4], [2]]' '[[-1, 3], ["x", 4], [2]]' '{}'; do sed "s/\[\[.*\]\]/$s/" h.json > b.json; xray export b.json --to hwloc | grep -c 'type="PU"'; done
0
0
0
0
0
2| xray: the description does not know which CPUs are one core well enough; --min-confidence lowers the border
2| xray: the description does not know which CPUs are one core well enough; --min-confidence lowers the border
2| xray: the description does not know which CPUs are one core well enough; --min-confidence lowers the border
2| xray: the description does not know which CPUs are one core well enough; --min-confidence lowers the border
2| xray: the description does not know which CPUs are one core well enough; --min-confidence lowers the border
? 1

# Wrong use.
$ xray export m.json
2| xray: `xray export` needs --to FORM; `xray export --help` lists the forms
? 2
$ xray export m.json --to blsi
2| xray: no form is called 'blsi'; did you mean 'blis'?
? 2
$ xray export m.json --to gcc -o none/such
2| xray: cannot write none/such: No such file or directory
? 2
$ echo '{"schema": 1, "facts": {}}' > empty.json; for f in blis gcc glibc hwloc kerncraft openblas roofline; do xray export empty.json --to $f; echo $?; done
2
2
2
2
2
2
2
2| xray: the description does not know the first cache well enough; --min-confidence lowers the border
2| xray: the description does not know any cache well enough; --min-confidence lowers the border
2| xray: the description does not know any cache well enough; --min-confidence lowers the border
2| xray: the description does not know the number of cores and threads well enough; --min-confidence lowers the border
2| xray: the description does not know clock and first cache well enough; --min-confidence lowers the border
2| xray: the description does not know the cores or the second cache well enough; --min-confidence lowers the border
2| xray: the description does not know clock and floating-point throughput well enough; --min-confidence lowers the border
