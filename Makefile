# SPDX-License-Identifier: MIT
# X-Ray. `make run` measures this machine, `make test` runs the tests, `make help` lists the rest.
#
# One makefile, no configure step, everything made goes to $(BUILD). A source file joins by being there: library in
# src/*/, program in cli/, micro-benchmark in src/micro/, test in tests/*/test_*.c, fuzz target in tests/fuzz/fuzz_*.c.

, := ,
VERSION := $(shell cat VERSION)
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=

ifeq ($(origin CC),default)
CC = cc
endif
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
ifneq ($(DEV),)
WARN += -Werror
endif
XR_CPPFLAGS := -Isrc -Iinclude -I$(BUILD)/gen -D_GNU_SOURCE -DXR_VERSION=\"$(VERSION)\" $(CPPFLAGS)
# The same tree gives the same bytes wherever it lies: compilers take the folder's name, for debuggers, from here.
ANYWHERE := PWD=/proc/self/cwd
XR_CFLAGS = -std=c11 -fPIC $(CFLAGS) $(WARN)
LIBS := -lhwloc -ljansson -linih -lm -lpthread
COMPILE = $(ANYWHERE) $(CC) $(XR_CPPFLAGS) $(XR_CFLAGS) -MMD -MP
Q = $(if $(V),,@)

# STATIC=1: a program that needs nothing on the machine it runs on but, to compile experiments, a C compiler.
# cli/absent.c stands in for what a static program must do without, see there.
PROGRAM ?= $(BUILD)/xray
STATIC_FLAGS := $(if $(STATIC),-static -Wl$(,)--wrap=dlopen)

LIB_SRC := $(sort $(filter-out src/agent/%,$(wildcard src/*/*.c src/*/*/*.c)))
CLI_SRC := $(sort $(filter-out $(if $(STATIC),,cli/absent.c),$(wildcard cli/*.c)))
TEST_SRC := $(sort $(wildcard tests/*/test_*.c))
HELP_SRC := $(sort $(wildcard tests/lib/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
LINT_SRC := $(LIB_SRC) $(wildcard cli/*.c src/agent/*.c)
GEN_SRC := $(BUILD)/gen/micro_table.c $(BUILD)/gen/agent_text.c $(BUILD)/gen/skeleton_text.c

OWN_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(GEN_SRC:.c=.o)
LIB_OBJ := $(OWN_OBJ) $(BUILD)/gen/builtin_ids.o $(BUILD)/gen/builtin.o
AGENT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/agent/*.c))
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/page.o
PAGE ?= $(BUILD)/page/page.html
TEST_OBJ := $(filter-out $(BUILD)/cli/main.o $(BUILD)/cli/absent.o,$(CLI_OBJ)) $(HELP_SRC:%.c=$(BUILD)/%.o)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
SOVERSION := 0
SHARED := $(if $(STATIC),,$(BUILD)/libxray.so.$(SOVERSION))
XRAY := $(if $(CLI_SRC),$(PROGRAM),$(BUILD)/libxray.a)

# Commands of their own that make others: as many jobs as CPUs, unless the person said how many.
SUBMAKE = +@$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
# Instrumented code draws warnings of its own, so none is an error there.
SANITIZE_FLAGS = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: page dist deb all run test test-faults test-page test-same mutants test-deep test-targets lab answers cores-table rates habits calibrate check-live bench install uninstall lint format analyse asan tsan valgrind fuzz programs objects clean help FORCE

##@ Use
all: $(XRAY) $(SHARED) $(BUILD)/.settings ## build build/xray, build/libxray.a and libxray.so.0
run: ## install what is missing, build, measure this machine (ARGS='cache tlb' for options of xray)
	@scripts/deps build
	$(SUBMAKE) all
	@$(BUILD)/xray $(ARGS) || case $$? in 1|4) ;; *) exit 1 ;; esac # a fact that cannot be found is a result too
install: all $(BUILD)/xray.pc $(BUILD)/xray.1 $(BUILD)/xray-facts.7 ## install all of it under PREFIX (DESTDIR respected)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin include lib/pkgconfig share/man/man1 share/man/man7 share/xray \
		share/bash-completion/completions share/zsh/site-functions share/fish/vendor_completions.d)
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/libxray.a $(DESTDIR)$(PREFIX)/lib/
	$(if $(SHARED),install -m 644 $(SHARED) $(DESTDIR)$(PREFIX)/lib/)
	$(if $(SHARED),ln -sf libxray.so.$(SOVERSION) $(DESTDIR)$(PREFIX)/lib/libxray.so)
	install -m 644 $(BUILD)/xray.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	install -m 644 include/xray.h include/xray.hpp $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(BUILD)/xray.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(BUILD)/xray-facts.7 $(DESTDIR)$(PREFIX)/share/man/man7/
	install -m 644 python/xray.py docs/description.schema.json $(DESTDIR)$(PREFIX)/share/xray/
	$(PROGRAM) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/xray
	$(PROGRAM) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_xray
	$(PROGRAM) completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/xray.fish
	for d in $(wildcard machines targets); do cp -R $$d $(DESTDIR)$(PREFIX)/share/xray/; done
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/xray include/xray.h include/xray.hpp lib/libxray.a lib/libxray.so \
		lib/libxray.so.$(SOVERSION) lib/pkgconfig/xray.pc share/man/man1/xray.1 share/man/man7/xray-facts.7 \
		share/bash-completion/completions/xray share/zsh/site-functions/_xray share/fish/vendor_completions.d/xray.fish)
	rm -rf $(DESTDIR)$(PREFIX)/share/xray
page: ## build the page of `xray report`, which takes npm, into the program
	@scripts/deps page
	@rm -f $(PAGE)
	$(SUBMAKE) MUST=1 all
dist: ## the source as build/xray-VERSION.tar.gz; the same commit gives the same bytes
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=xray-$(VERSION)/ HEAD | gzip -9n > $(BUILD)/xray-$(VERSION).tar.gz
deb: ## Debian packages in build/deb: xray, libxray0, libxray-dev
	@scripts/deps build
	@scripts/deb $(BUILD)/deb
bench: all ## side by side with other tools; a matrix multiply with X-Ray's blocks against the best there is
	bench/run $(BUILD)/xray
	bench/multiply $(BUILD)

##@ Test
test: ## install what is missing, build, run all tests (T='unit cli' for some)
	@scripts/deps test
	$(SUBMAKE) all programs
	@tests/run $(BUILD) $(T)
test-deep: ## the same with N times as many simulated machines (default N=5000) and longer fuzzing
	@scripts/deps test
	$(SUBMAKE) all programs
	@XR_DEEP=$(or $(N),5000) tests/run $(BUILD) $(T)
test-targets: ## install cross compilers and emulators, then try other machines: cross, bare metal, remote, simulated
	@scripts/deps test
	@scripts/deps targets
	$(SUBMAKE) all
	@tests/run $(BUILD) targets
lab: all programs ## the suites of random machines with N machines each (default 240)
	@XR_DEEP=$(or $(N),240) tests/run $(BUILD) model/test_machines model/test_second model/test_behaviour
answers: all programs ## what every engine asks and answers on a few machines: writes tests/model/answers.txt, which the tests hold to
	@$(BUILD)/tests/model/test_answers --write > $(BUILD)/answers.txt && mv $(BUILD)/answers.txt tests/model/answers.txt
cores-table: all programs ## what is found on the cores of machines/cores: writes docs/cores.md, which the tests hold to (N runs each, default 5)
	@$(BUILD)/tests/model/test_cores --table $(or $(N),5) > $(BUILD)/cores.md && mv $(BUILD)/cores.md docs/cores.md
rates: all programs ## what is found on random machines: writes tests/model/rates.txt, which the tests hold to (N machines, default 900)
	@{ grep '^#\|^second' tests/model/rates.txt; XR_DEEP=$(or $(N),900) $(BUILD)/tests/model/test_machines --rates; } \
		> $(BUILD)/rates.txt && mv $(BUILD)/rates.txt tests/model/rates.txt
habits: all programs ## each habit of real cores alone on N random machines (default 100): writes docs/habits.md
	@$(BUILD)/tests/model/test_habits --table $(or $(N),100) > $(BUILD)/habits.md && mv $(BUILD)/habits.md docs/habits.md
calibrate: all programs ## stated confidence against share of right answers on N machines of the second generator (default 2000)
	@$(BUILD)/tests/model/test_second --data $(or $(N),2000) > $(BUILD)/second.txt
	@{ grep '^#' tests/model/calibration.txt; grep '^bin' $(BUILD)/second.txt; } > $(BUILD)/bins.txt
	@{ grep -v '^second' tests/model/rates.txt; grep '^second' $(BUILD)/second.txt; } > $(BUILD)/rates.txt
	@mv $(BUILD)/bins.txt tests/model/calibration.txt; mv $(BUILD)/rates.txt tests/model/rates.txt
	@$(BUILD)/tests/model/test_second --page > docs/calibration.md; $(BUILD)/tests/model/test_second --svg > docs/calibration.svg
	@cat docs/calibration.md
test-faults: all ## everything that can go wrong outside, made to go wrong; takes minutes
	@tests/run $(BUILD) faults
test-same: $(BUILD)/.settings ## build twice, in two places: the same bytes
	@tests/run $(BUILD) same
test-page: ## install npm and a browser, then look at the page of `xray report` with it
	@scripts/deps test
	@scripts/deps page-test || true # what is missing then is skipped, and said
	$(SUBMAKE) all
	@tests/run $(BUILD) page
mutants: ## N small changes in src/ (default 100), and those that no fitting test notices; takes half an hour
	@scripts/mutants -n $(or $(N),100) --seed $(or $(SEED),1)
check-live: all programs ## what must hold on the machine at hand; with RUNS=N LOAD=none|other|same how steady it is
	@$(if $(RUNS),scripts/steady $(BUILD)/xray $(RUNS) $(or $(LOAD),none) $(T),tests/run $(BUILD) live)
asan: ## the tests with address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan DEV= PAGE=$(PAGE) T='$(T)' CFLAGS='$(SANITIZE_FLAGS) -fsanitize=address,undefined' \
		LDFLAGS='-fsanitize=address,undefined' test
tsan: ## the tests with the thread sanitizer
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tsan DEV= PAGE=$(PAGE) T='$(T)' CFLAGS='$(SANITIZE_FLAGS) -fsanitize=thread' \
		LDFLAGS='-fsanitize=thread' test
valgrind: all programs ## programs and tests under valgrind
	@scripts/deps valgrind
	@tests/run $(BUILD) valgrind
fuzz: ## every fuzz target for SECONDS (default 60) with clang's libFuzzer, JOBS (default 1) of them at once
	@scripts/deps fuzz
	@scripts/fuzz $(BUILD)/fuzz $(or $(SECONDS),60) $(FUZZ)

##@ Develop (DEV=1 makes warnings errors, STATIC=1 links a self-contained program, V=1 shows commands)
lint: all ## compilers, clang-tidy and the rules of the house have nothing to say
	@CI=1 tests/run $(BUILD) tools house
format: ## lay out all C by .clang-format
	@scripts/format
clean: ## remove everything that was made
	rm -rf $(BUILD)
help: ## this list
	@awk -F ' *## *' '/^##@/ {print "\n" substr($$0, 5)} \
		/^[a-z-]+:.*## / {split($$1, t, ":"); printf "  make %-11s %s\n", t[1], $$2}' Makefile

# ---- how things are made ----

programs: $(TEST_BIN) $(FUZZ_BIN) $(AGENT_OBJ)
objects: $(LIB_OBJ) $(CLI_OBJ) $(AGENT_OBJ) $(TEST_SRC:%.c=$(BUILD)/%.o) # all C there is, for compilers to complain about

$(PROGRAM): $(CLI_OBJ) $(BUILD)/libxray.a $(dir $(PROGRAM)).program
	@echo '  LD    $@'
	$(Q)$(CC) $(CFLAGS) $(STATIC_FLAGS) $(LDFLAGS) -o $@ $(CLI_OBJ) $(BUILD)/libxray.a $(LIBS)

$(BUILD)/libxray.a: $(LIB_OBJ) $(BUILD)/.archive
	@echo '  AR    $@'
	$(Q)rm -f $@ && $(AR) rcs $@ $(LIB_OBJ)

# The agent for machines without a compiler. What it must carry is found by running the library, without it, on simulated
# machines; the streams are compiled like any other, linked with the agent, and the program becomes a part of the library.
BUILTIN_MACHINES := machines/p6.ini machines/server.ini
$(BUILD)/gen/builtin-tool: $(BUILD)/scripts/builtin.o $(OWN_OBJ) $(BUILD)/.link
	@echo '  LD    $@'
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(BUILD)/scripts/builtin.o $(OWN_OBJ) $(LIBS)

$(BUILD)/gen/builtin_units.c: $(BUILD)/gen/builtin-tool $(BUILTIN_MACHINES)
	@echo '  GEN   $@'
	$(Q)$< $(@D) $(BUILTIN_MACHINES)
$(BUILD)/gen/builtin_table.c $(BUILD)/gen/builtin_ids.c: $(BUILD)/gen/builtin_units.c

HOSTED_OBJ := $(filter-out %/bare.o,$(AGENT_OBJ)) # bare.c is another program, for boards
$(BUILD)/gen/agent: $(HOSTED_OBJ) $(BUILD)/gen/builtin_units.c $(BUILD)/gen/builtin_table.c $(BUILD)/.link
	@echo '  LD    $@'
	$(Q)$(CC) -std=gnu11 -O2 -w -fno-math-errno -ffp-contract=fast -Isrc/agent $(if $(STATIC),-static) $(LDFLAGS) -s -pthread \
		-o $@ $(HOSTED_OBJ) $(BUILD)/gen/builtin_units.c $(BUILD)/gen/builtin_table.c -lm

# The agent as one object, to be linked with streams that the machine's compiler makes: half of a first run would be spent on
# compiling it. It must be as tight as that compiler would make it; instrumented, it links nowhere else and is left out.
$(AGENT_OBJ): XR_CFLAGS += -O2 -fno-lto -fPIE
$(BUILD)/gen/agent.o: $(HOSTED_OBJ) $(BUILD)/.link
	@mkdir -p $(@D)
	@echo '  LD    $@'
	$(Q)$(if $(findstring -fsanitize,$(CFLAGS)),: > $@,$(CC) -r -nostdlib -Wl$(,)-S -o $@ $(HOSTED_OBJ))

incbin = ".balign 16\n.globl xr_builtin_$(1)\nxr_builtin_$(1):\n.incbin \"$(2)\"\n.globl xr_builtin_$(1)_end\nxr_builtin_$(1)_end:\n.byte 0\n"
$(BUILD)/gen/builtin.o: $(BUILD)/gen/agent $(BUILD)/gen/agent.o
	@printf '%s\n' '__asm__(".section .rodata\n"' '$(call incbin,program,$<)' '$(call incbin,object,$<.o)' '".text\n");' > $(@:.o=.c)
	@echo '  CC    $(@:.o=.c)'
	$(Q)$(ANYWHERE) $(CC) $(CFLAGS) -fPIC -c -o $@ $(@:.o=.c)

# The page of `xray report`, see scripts/page. Where there is no npm it is empty, and the program says so.
$(PAGE): $(wildcard web/*) scripts/page
	@echo '  PAGE  $@'
	$(Q)scripts/page $(if $(MUST),--must) $@

$(BUILD)/gen/page.o: $(PAGE)
	@mkdir -p $(@D)
	@printf '%s\n' '__asm__(".section .rodata\n.globl cli_page\ncli_page:\n.incbin \"$<\"\n"' \
		'".globl cli_page_end\ncli_page_end:\n.byte 0\n.text\n");' > $(@:.o=.c)
	$(Q)$(ANYWHERE) $(CC) $(CFLAGS) -fPIC -c -o $@ $(@:.o=.c)

# Only what xray.h declares can be seen from outside, with a version, so that a later library can keep old programs.
$(BUILD)/gen/xray.map: include/xray.h
	@mkdir -p $(@D)
	@{ echo 'XRAY_$(SOVERSION) {'; echo 'global:'; \
		grep -oE '\bxr_[a-z_0-9]+\(' $< | tr -d '(' | LC_ALL=C sort -u | sed 's/.*/	&;/'; \
		echo 'local:'; echo '	*;'; echo '};'; } > $@

$(BUILD)/libxray.so.$(SOVERSION): $(LIB_OBJ) $(BUILD)/gen/xray.map $(BUILD)/.archive $(BUILD)/.link
	@echo '  LD    $@'
	$(Q)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,libxray.so.$(SOVERSION) -Wl,--version-script=$(BUILD)/gen/xray.map \
		-o $@ $(LIB_OBJ) $(LIBS)

# Tests may look at the command line's own functions, all but main.
$(BUILD)/libtest.a: $(TEST_OBJ) $(BUILD)/.archive
	$(Q)rm -f $@ && $(AR) rcs $@ $(TEST_OBJ)

$(BUILD)/%.o: %.c $(BUILD)/.compile | $(BUILD)/.deps
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(COMPILE) -c -o $@ $<

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/.compile | $(BUILD)/.deps
	@echo '  CC    $<'
	$(Q)$(COMPILE) -c -o $@ $<

$(TEST_BIN): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libtest.a $(BUILD)/libxray.a $(BUILD)/.link
	@echo '  LD    $@'
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libtest.a $(BUILD)/libxray.a $(LIBS) -lcmocka

# Without libFuzzer a fuzz target is a program that takes files: the tests feed it everything that once broke it.
$(FUZZ_BIN): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/main.o $(BUILD)/libtest.a $(BUILD)/libxray.a $(BUILD)/.link
	@echo '  LD    $@'
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/tests/fuzz/main.o $(BUILD)/libtest.a $(BUILD)/libxray.a $(LIBS)

# For fuzzing: what only computes need not tell the fuzzer of every comparison; that would take most of the time.
COMPUTES := $(filter-out %/parse.c %/keys.c %/check.c,$(wildcard $(foreach d,infer stat method probe micro target/model,src/$d/*.c)))
$(COMPUTES:%.c=$(BUILD)/%.o): XR_CFLAGS += $(COMPUTES_CFLAGS)

# Once per file, and again when it or a header of it changes.
analyse: $(LINT_SRC:%.c=$(BUILD)/lint/%.ok)
$(BUILD)/lint/%.ok: %.c .clang-tidy $(BUILD)/.compile | $(BUILD)/.deps
	@mkdir -p $(@D)
	@echo '  TIDY  $<'
	@$(CC) $(XR_CPPFLAGS) -std=c11 -MM -MP -MT $@ -MF $(@:.ok=.d) $<
	$(Q)clang-tidy --quiet $< -- -std=c11 $(XR_CPPFLAGS) 2> $@.err || { cat $@.err; false; }
	@touch $@

# Generated sources are written anew each time and replaced only when they differ: files that go count like files that come.
replace = @$(1) > $@.$$$$ && { cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@; }
$(BUILD)/gen/micro_table.c: FORCE
	@mkdir -p $(@D)
	$(call replace,scripts/micro-table src/micro)

$(BUILD)/gen/agent_text.c: FORCE
	@mkdir -p $(@D)
	$(call replace,scripts/embed xr_agent_text src/agent)

$(BUILD)/gen/skeleton_text.c: FORCE
	@mkdir -p $(@D)
	$(call replace,scripts/embed xr_skeleton_text targets/skeleton)

# The manual page as installed has the list of micro-benchmarks of this very build.
$(BUILD)/xray.1: docs/xray.1 $(PROGRAM)
	$(PROGRAM) list --man > $@.list
	sed -e '/^\.\\" `xray list --man` goes here/r $@.list' -e '/^\.\\" `xray list --man`/d' $< > $@

# Every fact there is, from the descriptors of this build.
$(BUILD)/xray-facts.7: docs/xray-facts.7 $(PROGRAM)
	$(PROGRAM) list --man > $@.list
	sed -e '/^\.\\" `xray list --man` goes here/r $@.list' -e '/^\.\\" `xray list --man`/d' $< > $@

$(BUILD)/xray.pc: scripts/xray.pc.in VERSION $(BUILD)/.install
	sed -e 's|@prefix@|$(PREFIX)|' -e 's|@version@|$(VERSION)|' $< > $@

# $(BUILD)/.NAME changes when the command it stands for does, so that other flags or another list of files make anew.
$(BUILD)/.compile: COMMAND = $(COMPILE) $(COMPUTES_CFLAGS)
$(BUILD)/.link: COMMAND = $(CC) $(CFLAGS) $(LDFLAGS) $(LIBS)
$(dir $(PROGRAM)).program: COMMAND = $(CC) $(CFLAGS) $(STATIC_FLAGS) $(LDFLAGS) $(LIBS) $(CLI_OBJ)
$(BUILD)/.archive: COMMAND = $(LIB_OBJ) $(TEST_OBJ)
$(BUILD)/.install: COMMAND = $(PREFIX)
$(BUILD)/.settings: COMMAND = CC="$(CC)" CFLAGS="$(CFLAGS)" LDFLAGS="$(LDFLAGS)" CPPFLAGS="$(CPPFLAGS)" DEV="$(DEV)"
$(addprefix $(BUILD)/.,compile link archive install settings) $(dir $(PROGRAM)).program: FORCE
	@mkdir -p $(@D)
	$(call replace,echo '$(COMMAND)')

# Asked once per build directory: is what we compile against there? (`run` and `test` also install it.)
$(BUILD)/.deps: scripts/deps
	@mkdir -p $(@D)
	@scripts/deps --check build
	@touch $@

-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
