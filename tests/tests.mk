# Host tests and fuzzers. Unit tests are programs that speak TAP, run by prove,
# in two builds: host64 (sanitizers) and host32 (the image's own compiler flags).
HOST_CC64 = gcc
HOST_CC32 = $(CROSS)gcc
HOST_FLAGS = -std=gnu17 -g $(WARN) -Itests/host -I.
FLAGS64 = -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all $(HOST_FLAGS)
FLAGS32 = -O2 $(ARCH) $(HOST_FLAGS)

HOST_SRC = $(BOTH_SRC) tests/host/host.c \
           tests/host/rig.c tests/host/image.c tests/host/route6.c tests/host/nat_check.c tests/host/tcp_pair.c tests/fuzz/frames.c tests/fuzz/frames6.c \
           tests/fuzz/frames_make.c \
           $(wildcard tests/models/*.c)
UNIT_SRC = $(shell find tests/unit -name "test_*.c")
UNIT64 = $(UNIT_SRC:%.c=build/host64/%)
UNIT32 = $(UNIT_SRC:%.c=build/host32/%)

build/host64/%.o: %.c Makefile tests/tests.mk | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC)$(HOST_CC64) $(FLAGS64) -MMD -MP -c $< -o $@
build/host32/%.o: %.c Makefile tests/tests.mk $(STAMP) | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC)$(HOST_CC32) $(FLAGS32) -MMD -MP -c $< -o $@
build/host64/libgateway.a: $(HOST_SRC:%.c=build/host64/%.o)
	@rm -f $@ && ar rcs $@ $^
build/host32/libgateway.a: $(HOST_SRC:%.c=build/host32/%.o)
	@rm -f $@ && $(CROSS)ar rcs $@ $^
$(UNIT64): build/host64/%: build/host64/%.o build/host64/libgateway.a
	$(call say,LINK)$(HOST_CC64) $(FLAGS64) $^ -o $@
$(UNIT32): build/host32/%: build/host32/%.o build/host32/libgateway.a
	$(call say,LINK)$(HOST_CC32) $(FLAGS32) -static $^ -o $@
# The gateway as a host program, for tests/sim.
# gwsim counts the frames that a fast path gives to gw_frame.
build/host64/gwsim: build/host64/tests/host/gwsim.o build/host64/libgateway.a
	$(call say,LINK)$(HOST_CC64) $(FLAGS64) -Wl,--wrap=gw_frame $^ -o $@
build/host32/gwsim: build/host32/tests/host/gwsim.o build/host32/libgateway.a
	$(call say,LINK)$(HOST_CC32) $(FLAGS32) -static -Wl,--wrap=gw_frame $^ -o $@
-include $(HOST_SRC:%.c=build/host64/%.d) $(HOST_SRC:%.c=build/host32/%.d)
-include $(UNIT64:%=%.d) $(UNIT32:%=%.d)
-include build/host64/tests/host/gwsim.d build/host32/tests/host/gwsim.d

# The test of the tools, which are for the host only.
TOOL_TEST = build/host64/tests/tools/test_dns
$(TOOL_TEST): %: %.o $(patsubst %,build/host64/tools/dns/%.o,fakeanswer fakeoptions args perfcheck)
	$(call say,LINK)$(HOST_CC64) $(FLAGS64) $^ -o $@

.PHONY: unit sim
unit: $(UNIT64) $(UNIT32) $(TOOL_TEST)
	prove -j2 -e '' $(UNIT64) $(UNIT32) $(TOOL_TEST)

# The gateway against scapy and the RFCs, in virtual time.
sim: build/host64/gwsim build/host32/gwsim
	.venv/bin/pytest -q -n2 tests/sim
# Makes a program of each test file, so that tests/mutants/run can run it, or the tests that it names.
SIM = $(wildcard tests/sim/*/test_*.py)
TOOL_PY = $(wildcard tests/tools/test_*.py) tests/qemu/test_dnstools.py
$(SIM:%.py=build/host64/%): build/host64/gwsim
$(SIM:%.py=build/host64/%): PICK = -k host64
$(SIM:%.py=build/host64/%) $(TOOL_PY:%.py=build/host64/%): build/host64/%: %.py
	@mkdir -p $(@D)
	@printf '#!/bin/sh\n[ $$# -gt 0 ] || set -- %s\nexec .venv/bin/pytest -q -x $(PICK) "$$@"\n' $< >$@ && chmod +x $@

# Programs that measure and test DNS64 servers; they run on the host.
TOOL_FLAGS = -std=gnu17 -O2 -g $(WARN)
TOOL_OBJ = build/tools/obj
FAKEDNS   = fakedns fakeoptions fakeanswer args
DNS64PERF = dns64perf trial search perfcheck fakeanswer args
$(TOOL_OBJ)/%.o: tools/dns/%.c $(wildcard tools/dns/*.h) tests/tests.mk | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC)$(HOST_CC64) $(TOOL_FLAGS) -c $< -o $@
build/tools/fakedns: $(FAKEDNS:%=$(TOOL_OBJ)/%.o)
build/tools/dns64perf: $(DNS64PERF:%=$(TOOL_OBJ)/%.o)
build/tools/fakedns build/tools/dns64perf:
	$(call say,LINK)$(HOST_CC64) $^ -lpthread -lm -o $@

# Fuzzers: tests/fuzz/fuzz_NAME.c each, with clang's libFuzzer.
FUZZ_CC = clang-14
FUZZ_SECONDS ?= 60
FUZZ_SHORT ?= same
# Smaller tables: an input of a few hundred octets fills them, and less must be restored after it.
FUZZ_SMALL = -DTCP_CONNECTIONS=64u -DNAT_WHEEL=512u -DNEIGH_SET_BITS=4u -DDHCPS_PROBES=4u -DWHEEL_SLOTS=64u \
             -DDNS64_QUICK_BITS=10u -DFLOW_BITS=5u -DFILTER6_SET_BITS=3u -DPCP_ENTRIES=16u
FUZZ_FLAGS = -O2 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
             $(HOST_FLAGS) $(FUZZ_SMALL)
FUZZERS = $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJ = $(HOST_SRC:%.c=build/fuzz/obj/%.o)
# Code that only checks needs no coverage. Comparisons are traced where messages are parsed, so that
# the fuzzer finds the numbers it needs; elsewhere tracing would take half of the time. (memcmp and
# the dictionary give the words of the configuration.)
FUZZ_PLAIN  = tests/host/%.c tests/fuzz/frames.c tests/fuzz/frames6.c tests/fuzz/frames_make.c
FUZZ_TRACED = kernel/lib/addr.c apps/http/http_request.c apps/dns64/message/dns_message.c apps/dns64/message/dns_name.c tests/fuzz/fuzz_dnsmsg.c
fuzz_explore = $(if $(filter $(FUZZ_PLAIN),$1),,-fsanitize=fuzzer-no-link \
                 $(if $(filter $(FUZZ_TRACED),$1),,-fno-sanitize-coverage=trace-cmp))
build/fuzz/obj/%.o: %.c Makefile tests/tests.mk | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC)$(FUZZ_CC) $(FUZZ_FLAGS) $(call fuzz_explore,$<) -MMD -MP -c $< -o $@
build/fuzz/libgateway.a: $(FUZZ_OBJ)
	@rm -f $@ && ar rcs $@ $^
build/fuzz/fuzz_%: build/fuzz/obj/tests/fuzz/fuzz_%.o build/fuzz/libgateway.a
	$(call say,LINK)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer $^ -o $@
-include $(FUZZ_OBJ:.o=.d) $(FUZZERS:%=build/fuzz/obj/tests/fuzz/fuzz_%.d)
.PRECIOUS: build/fuzz/obj/%.o

.PHONY: fuzz fuzz-short
fuzz: deps $(FUZZERS:%=build/fuzz/fuzz_%)
	tests/fuzz/run $(FUZZ_SECONDS) $(FUZZERS)
# Part of `make test`; two fuzzers run side by side.
fuzz-short: $(FUZZERS:%=build/fuzz/fuzz_%)
	printf '%s\n' $(FUZZERS) | xargs -n1 -P2 tests/fuzz/run $(FUZZ_SHORT)

# The lines of net/ and apps/ that no fuzzer reaches, by clang's coverage: each fuzzer is one program
# without sanitizers.
FUZZCOV_FLAGS = -O1 -fprofile-instr-generate -fcoverage-mapping $(HOST_FLAGS) $(FUZZ_SMALL)
build/fuzzcov/obj/%.o: %.c Makefile tests/tests.mk | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC)$(FUZZ_CC) $(FUZZCOV_FLAGS) -MMD -MP -c $< -o $@
build/fuzzcov/libgateway.a: $(HOST_SRC:%.c=build/fuzzcov/obj/%.o)
	@rm -f $@ && ar rcs $@ $^
build/fuzzcov/fuzz_%: build/fuzzcov/obj/tests/fuzz/fuzz_%.o build/fuzzcov/libgateway.a
	$(call say,LINK)$(FUZZ_CC) $(FUZZCOV_FLAGS) -fsanitize=fuzzer $^ -o $@
-include $(HOST_SRC:%.c=build/fuzzcov/obj/%.d) $(FUZZERS:%=build/fuzzcov/obj/tests/fuzz/fuzz_%.d)
.PRECIOUS: build/fuzzcov/obj/%.o

FUZZ_COVERAGE_SECONDS ?= 60
.PHONY: fuzz-coverage
fuzz-coverage: deps $(FUZZERS:%=build/fuzz/fuzz_%) $(FUZZERS:%=build/fuzzcov/fuzz_%)
	tests/fuzz/coverage --seconds $(FUZZ_COVERAGE_SECONDS) $(FUZZERS)
