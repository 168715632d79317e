# X-Ray. `make run` measures this machine, `make test` runs the tests; `make help` lists the rest.
CC ?= cc
BUILD ?= build
WARN = -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
ifdef DEV
WARN += -Werror
endif
CFLAGS ?= -O2 -g
VERSION := $(shell cat VERSION)
override CPPFLAGS += -Isrc -Iinclude -I$(BUILD)/gen -D_GNU_SOURCE -DXR_VERSION='"$(VERSION)"'
LIBS = -lhwloc -ljansson -linih -lm -lpthread

LIB_SRC := $(filter-out src/agent/%,$(wildcard src/*/*.c src/*/*/*.c))
CLI_SRC := $(wildcard cli/*.c)
UNIT_SRC := $(wildcard tests/unit/*.c)
MICRO := $(sort $(basename $(notdir $(wildcard src/micro/*.c))))
GEN_SRC := $(BUILD)/gen/micro_table.c $(BUILD)/gen/agent_text.c

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(GEN_SRC:%.c=%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)

.PHONY: all run test clean
all: $(BUILD)/xray

$(BUILD)/xray: $(CLI_OBJ) $(BUILD)/libxray.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libxray.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/gen/%.o: $(BUILD)/gen/%.c
	$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(BUILD)/gen/micro_table.c: scripts/micro-table $(wildcard src/micro/*.c)
	@mkdir -p $(@D)
	scripts/micro-table src/micro > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/agent_text.c: scripts/embed $(wildcard src/agent/*)
	@mkdir -p $(@D)
	scripts/embed xr_agent_text src/agent > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libxray.a
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -o $@ $< $(BUILD)/libxray.a $(LIBS) -lcmocka

run: all
	$(BUILD)/xray

test: all $(UNIT_BIN)
	@set -e; for t in $(UNIT_BIN); do $$t; done

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
