# Baregate's build. Each folder's sources.mk lists the files of the image.
#
#   make          images/gateway.elf         make run     the main job, shown (APP=nat)
#   make images   USB stick, CD, iPXE        make test    all tests
#   make bench    against a Linux guest      make fuzz    fuzzers for a limited time
#   make lint     format, analysis, arrows   make deps    installs missing packages
#   make fresh    both commands in a new     make test-long  all tests, more of each
#                 Debian                     make untested   functions that no test calls
#   make bochs    on processor models of Bochs

# The built-in rules match no file here, and searching them takes make a second. In its short form, since an n in the
# first word of MAKEFLAGS means `make -n` below.
MAKEFLAGS += -r

CROSS ?= i686-linux-gnu-
CC     = $(CROSS)gcc
APP   ?= nat

# --- source files ------------------------------------------------------------
# Each folder's sources.mk names its files, one a line. The variable to which it adds them says
# where and how they are compiled:
#
#   SRC           image and host         SRC_IMAGE       image only: needs the machine
#   SRC_HOT       runs for each packet   SRC_IMAGE_HOT
#   SRC_FASTEST   small functions that the compiler may inline: DNS64, checksums
include $(wildcard */sources.mk */*/sources.mk */*/*/sources.mk)

OBJDIR = build/image
OBJ    = $(patsubst %,$(OBJDIR)/%.o,$(basename $(1)))
BOTH_SRC  = $(SRC) $(SRC_HOT) $(SRC_FASTEST)
IMAGE_SRC = $(BOTH_SRC) $(SRC_IMAGE) $(SRC_IMAGE_HOT)
IMAGE_OBJ = $(call OBJ,$(IMAGE_SRC))

# `make clean image`: the files that are written below must be new ones, so all are removed here.
# `make clean` alone removes them at the end, and these with them.
OTHER_GOALS = $(filter-out clean,$(MAKECMDGOALS))
ifneq ($(and $(filter clean,$(MAKECMDGOALS)),$(OTHER_GOALS)),)
ifeq ($(findstring n,$(firstword -$(MAKEFLAGS))),)
$(shell rm -rf build images/gateway*)
endif
endif

# Each folder of net/ and apps/ may have a drops.def with its drop reasons. build/drops.def includes
# them all; those of net/ come first.
DROPS  = $(wildcard net/drops.def net/*/drops.def) $(wildcard apps/*/drops.def apps/*/*/drops.def)
$(shell mkdir -p build; printf '#include "%s"\n' $(DROPS) >build/drops.new; \
        cmp -s build/drops.new build/drops.def || cp build/drops.new build/drops.def; rm -f build/drops.new)

# In the same way a counts.def says what the counters of a folder count, and build/counts.def includes them all.
COUNTS = $(wildcard net/counts.def net/*/counts.def) $(wildcard apps/*/counts.def apps/*/*/counts.def)
$(shell printf '#include "%s"\n' $(COUNTS) >build/counts.new; \
        cmp -s build/counts.new build/counts.def || cp build/counts.new build/counts.def; rm -f build/counts.new)

# The files of the status page as C strings: style.css becomes web_style_css.
WEB = $(wildcard apps/http/web/*)
$(shell for f in $(WEB); do printf 'static const char web_%s[] =\n' "$$(basename $$f | tr . _)"; \
            sed 's/\\/\\\\/g; s/"/\\"/g; s/.*/"&\\n"/' $$f; echo ';'; done >build/web.new; \
        cmp -s build/web.new build/web.inc || cp build/web.new build/web.inc; rm -f build/web.new)

# The characters of the frame buffer console as a C table.
$(shell [ build/font.inc -nt kernel/console/font.txt ] && [ build/font.inc -nt tools/font ] || \
        { tools/font kernel/console/font.txt >build/font.new && mv build/font.new build/font.inc; })

# --- flags --------------------------------------------------------------------
WARN = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion
# Pentium 4 code without any FPU or SSE register; CROSS=i686-elf- accepts the same options.
ARCH = -m32 -march=pentium4 -mtune=generic -mgeneral-regs-only -fno-pic -fno-pie -fno-stack-protector \
       -fcf-protection=none -fno-asynchronous-unwind-tables -fno-strict-aliasing
CFLAGS = -std=gnu17 $(OPT) -g -ffreestanding -fno-common -fomit-frame-pointer \
         -ffunction-sections -fdata-sections $(ARCH) $(WARN) -I.
OPT    = -Os
# Most loops there are short: they must stay loops instead of becoming calls of memcpy.
$(call OBJ,$(SRC_HOT) $(SRC_IMAGE_HOT)): OPT = -O2 -fno-tree-loop-distribute-patterns
$(call OBJ,$(SRC_FASTEST)): OPT = -O3 -fno-tree-loop-distribute-patterns
LDFLAGS = -nostdlib -static -no-pie -Wl,--build-id=none -Wl,-z,noexecstack -Wl,-z,norelro \
          -Wl,--gc-sections -Wl,--fatal-warnings -T boot/gateway.ld

# Another compiler or other flags rebuild everything.
STAMP := build/made-with
$(shell mkdir -p build; echo '$(CC) $(CFLAGS)' | cmp -s - $(STAMP) || echo '$(CC) $(CFLAGS)' >$(STAMP))

# V=1 shows the complete commands.
say = $(if $(V),,@echo "  $1 $@"; )

.DEFAULT_GOAL = image
.DELETE_ON_ERROR:
.PHONY: image deps packages run images test test-programs test-long untested fresh bench bench-papers bochs fuzz lint clean format

image: images/gateway.elf images/gateway.sym

# For these goals missing packages are installed before anything is compiled.
NEED_PACKAGES = run images pictures test test-programs test-long untested bench bench-papers bochs fuzz fuzz-coverage lint deps packages
FIRST = $(if $(filter $(NEED_PACKAGES),$(MAKECMDGOALS)),packages)

# A change of the Makefile, the compiler or its flags rebuilds every object.
$(OBJDIR)/%.o: %.c Makefile $(STAMP) | $(FIRST)
	@command -v $(CC) >/dev/null || tools/deps packages
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(OBJDIR)/%.o: %.S Makefile $(STAMP) | $(FIRST)
	@mkdir -p $(@D)
	$(call say,AS)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@

# Linked twice: the second time with the table of function names from the
# first time (for the backtrace of a panic).
$(OBJDIR)/pass1.elf: $(IMAGE_OBJ) boot/gateway.ld
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(LDFLAGS_MORE) $(IMAGE_OBJ) -lgcc -o $@
$(OBJDIR)/symtab.S: $(OBJDIR)/pass1.elf tools/symtab
	tools/symtab $(CROSS)nm $< > $@
$(OBJDIR)/gateway.elf: $(IMAGE_OBJ) $(OBJDIR)/symtab.S boot/gateway.ld
	$(call say,LINK)$(CC) $(CFLAGS) $(LDFLAGS) $(IMAGE_OBJ) $(OBJDIR)/symtab.S -lgcc -o $@
images/gateway.sym: $(OBJDIR)/gateway.elf
	$(CROSS)objcopy --only-keep-debug $< $@
images/gateway.elf: $(OBJDIR)/gateway.elf
	$(CROSS)strip -o $@ $<

-include $(IMAGE_OBJ:.o=.d)

# --- the other commands --------------------------------------------------------
deps: packages
	tools/deps
packages:
	tools/deps packages

run: packages image
	tools/run $(APP)

images: packages image
	tools/mkimages

.PHONY: pictures
pictures: packages image
	tools/pictures

include tests/tests.mk

# All test programs are built first, so that a stage's time is only that of its tests.
test-programs: deps image images $(UNIT64) $(UNIT32) $(TOOL_TEST) build/host64/gwsim build/host32/gwsim \
      build/tools/fakedns build/tools/dns64perf $(FUZZERS:%=build/fuzz/fuzz_%)
test: test-programs
	tests/run
# This takes hours.
test-long: test-programs
	tests/run --long
# This takes some minutes.
untested: deps image
	tests/untested
# The README's commands on a machine with only make.
fresh:
	tools/deps fresh
	tools/fresh

bench: deps image
	tools/bench/run $(BENCH)

bench-papers: deps image
	tools/papers/run $(BENCH)

# The image on every processor model of Bochs; this takes some minutes.
bochs: deps image
	.venv/bin/pytest -q -n2 tests/bochs --all

lint: deps image
	tools/lint/run

format:
	clang-format-14 -i $$(git ls-files '*.c' '*.h')

clean:
	$(if $(OTHER_GOALS),@:,rm -rf build images/gateway*)
