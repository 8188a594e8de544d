# Baregate: the map of the project. What stands in a list below is in the image.
#
#   make          images/gateway.elf         make run     the main job, shown (APP=nat)
#   make images   USB stick, CD, iPXE        make test    all tests
#   make bench    beside a Linux guest       make fuzz    fuzzers for a bounded time
#   make lint     format, analysis, arrows   make deps    installs what is missing
#   make fresh    both commands in a new     make test-long  all tests, more of each
#                 Debian                     make untested   functions that no test calls

CROSS ?= i686-linux-gnu-
CC     = $(CROSS)gcc
APP   ?= nat

# --- what there is ------------------------------------------------------------
# The pure part of the kernel: no hardware, compiled on the host as well.
PURE    = alloc pkt fmt addr log random config config_keys config_nat config_tun config_ivi config_dns64 \
          menu_state keys multiboot acpi symbols_find screen
# Only in the image: the machine, and the C library's memory functions.
MACHINE = string boot cpu clock mem console uart vga keyboard panic power symbols entropy
# On io.h alone: also compiled on the host, with device models behind io.h.
DEVICE  = pci
# The only code that looks upward.
WIRING  = main rcv menu shell
DRIVERS = drivers e1000 e1000_hw virtio_net virtio_pci
NET     = gw setup show neigh arp ip4 icmp local csum frag reasm mss setup6 ip6 icmp6 neigh6 nd ra mld local6 \
          udp udp_path wheel tcp tcp_client tcp_in tcp_open tcp_cookie tcp_ack tcp_out tcp_buf tcp_timer tcp_icmp tcp_show
APPS    = apps wire nat44 nat44_session nat44_icmp nat44_other nat44_show nat_table nat_session nat_room nat_tcp nat_syn tun6to4 tun6to4_init tun6to4_end tun6to4_out tun6to4_in tun6to4_icmp embed ivi ivi_addr ivi_show xlat_known xlat46 xlat64 xlat_icmp xlat_error46 xlat_error64 \
          dnsmsg dnsname dns64 dns64_client dns64_setup dns64_plan dns64_reverse dns64_answer dns64_store dns64_cache dns64_ask dns64_try dns64_ready dns64_known \
          dns64_server dns64_wait dns64_limit dns64_relay dns64_stream dns64_link dns64_show

# What a packet runs through is compiled for speed, the rest (lists, start) for size.
HOT     = kernel/pkt kernel/alloc kernel/random kernel/string kernel/cpu kernel/clock kernel/rcv \
          $(DRIVERS:%=drivers/%) \
          $(addprefix net/,gw neigh neigh6 ip4 ip6 icmp icmp6 csum frag reasm mss local local6 udp udp_path \
            wheel tcp tcp_client tcp_in tcp_ack tcp_out tcp_buf tcp_timer) \
          $(addprefix apps/,$(filter-out apps %_show %_init %_setup,$(APPS)))

OBJDIR = build/image
PURE_SRC    = $(PURE:%=kernel/%.c)
NET_SRC     = $(NET:%=net/%.c)
APPS_SRC    = $(APPS:%=apps/%.c)
DRIVERS_SRC = $(DRIVERS:%=drivers/%.c)
DEVICE_SRC  = $(DEVICE:%=kernel/%.c)
IMAGE_SRC   = $(wildcard boot/*.S) $(wildcard kernel/*.S) $(MACHINE:%=kernel/%.c) \
              $(WIRING:%=kernel/%.c) $(PURE_SRC) $(DEVICE_SRC) $(DRIVERS_SRC) $(NET_SRC) $(APPS_SRC)
IMAGE_OBJ   = $(patsubst %,$(OBJDIR)/%.o,$(basename $(IMAGE_SRC)))

# --- flags --------------------------------------------------------------------
WARN = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion
# Pentium 4 code without any FPU or SSE register; CROSS=i686-elf- takes the same.
ARCH = -m32 -march=pentium4 -mtune=generic -mgeneral-regs-only -fno-pic -fno-pie -fno-stack-protector \
       -fcf-protection=none -fno-asynchronous-unwind-tables -fno-strict-aliasing
CFLAGS = -std=gnu17 $(OPT) -g -ffreestanding -fno-common -fomit-frame-pointer \
         -ffunction-sections -fdata-sections $(ARCH) $(WARN) -I.
OPT    = -Os
# A cold answer of dns64 is thousands of instructions in many small steps: these the compiler
# may unroll and put into each other.
FASTEST = $(filter apps/dns%,$(HOT)) net/udp_path net/csum
# Most loops there are short: they stay loops instead of calls of memcpy.
$(HOT:%=$(OBJDIR)/%.o): OPT = -O2 -fno-tree-loop-distribute-patterns
$(FASTEST:%=$(OBJDIR)/%.o): OPT = -O3 -fno-tree-loop-distribute-patterns
LDFLAGS = -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,norelro \
          -Wl,--gc-sections -Wl,--fatal-warnings -T boot/gateway.ld

# Another compiler or other flags make everything anew.
STAMP := build/made-with
$(shell mkdir -p build; echo '$(CC) $(CFLAGS)' | cmp -s - $(STAMP) || echo '$(CC) $(CFLAGS)' >$(STAMP))

# V=1 shows whole commands.
say = $(if $(V),,@echo "  $1 $@"; )

.DEFAULT_GOAL = image
.DELETE_ON_ERROR:
.PHONY: image deps packages run images test test-programs test-long untested fresh bench fuzz lint clean format

image: images/gateway.elf

# A list of names that changes must rebuild the link.
$(OBJDIR)/%.o: %.c Makefile $(STAMP)
	@command -v $(CC) >/dev/null || tools/deps packages
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(OBJDIR)/%.o: %.S Makefile $(STAMP)
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

# Linked twice: the second time with the table of function names that the
# first one gave (for the trail of a panic).
$(OBJDIR)/pass1.elf: $(IMAGE_OBJ) boot/gateway.ld
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(LDFLAGS_MORE) $(IMAGE_OBJ) -lgcc -o $@
$(OBJDIR)/symtab.S: $(OBJDIR)/pass1.elf tools/symtab
	tools/symtab $(CROSS)nm $< > $@
$(OBJDIR)/gateway.elf: $(IMAGE_OBJ) $(OBJDIR)/symtab.S boot/gateway.ld
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(IMAGE_OBJ) $(OBJDIR)/symtab.S -lgcc -o $@
images/gateway.elf: $(OBJDIR)/gateway.elf
	$(CROSS)objcopy --only-keep-debug $< images/gateway.sym
	$(CROSS)strip -o $@ $<

-include $(IMAGE_OBJ:.o=.d)

# --- the other commands --------------------------------------------------------
# What is missing is there before anything else begins.
.NOTPARALLEL: run images test test-programs test-long untested fresh bench fuzz lint
deps:
	tools/deps
packages:
	tools/deps packages

run: packages image
	tools/run $(APP)

images: packages image
	tools/mkimages

include tests/tests.mk

# What the tests run is built first, so that a stage's time is its own.
test-programs: deps image images $(UNIT64) $(UNIT32) $(TOOL_TEST) build/host64/gwsim build/host32/gwsim \
      build/tools/fakedns build/tools/dns64perf $(FUZZERS:%=build/fuzz/fuzz_%)
test: test-programs
	tests/run
# Hours.
test-long: test-programs
	tests/run --long
# Some minutes.
untested: deps image
	tests/untested
# The README's commands on a machine with nothing but make.
fresh:
	tools/deps fresh
	tools/fresh

bench: deps image
	tools/bench/run $(BENCH)

lint: deps image
	tools/lint/run

format:
	clang-format-14 -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf build images/gateway*
