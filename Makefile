# Orrery. `make help` lists the targets. One Makefile, no recursion but for another MODE.
#
#   make MODE=release|debug|asan|o0|o3|cov  CC=gcc|clang     objects go to build/<mode>[-clang]; a flag change rebuilds
#   make MPI=1                                           `orrery sweep` runs on the ranks of `mpirun` as well
#   make V=1                                             show the commands

MODE ?= release
ifeq ($(origin CC),default)
CC := gcc
endif

B := build/$(MODE)$(if $(findstring clang,$(CC)),-clang)$(if $(MPI),-mpi)$(if $(WITH),-relinked)

FLAGS_release := -O2 -g
FLAGS_debug   := -O0 -g3 -DORRERY_DEBUG
# AddressSanitizer reports accesses through most wrong pointers. The checks of pointers themselves, which find more,
# take a fifth of the time of compiling, and are left out. Undefined behaviour traps: what is wrong and where stands in
# data otherwise, three quarters of all globals, which each start would register.
TRAP := $(if $(findstring clang,$(CC)),-fsanitize-trap=undefined,-fsanitize-undefined-trap-on-error)
FLAGS_asan    := -O1 -g1 -DORRERY_DEBUG -fsanitize=address,undefined -fno-sanitize=null,object-size,pointer-overflow \
                 $(TRAP) -fno-sanitize-recover=all -fno-omit-frame-pointer -fno-pie
FLAGS_o0      := -O0
FLAGS_o3      := -O3 -fno-pie
FLAGS_cov     := -O1 -g -DORRERY_DEBUG --coverage
# The build of tests/mutate whose objects are replaced by mutants, one at a time.
FLAGS_mutant  := -O2 -fno-pie -DORRERY_DEBUG
FLAGS_fuzz    := -O1 -g -DFUZZING -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
ifeq ($(FLAGS_$(MODE)),)
$(error MODE must be one of release debug asan o0 o3 fuzz cov mutant, got '$(MODE)')
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wmissing-prototypes -Wstrict-prototypes
STRICT := $(if $(CI)$(WERROR),-Werror)
GIT_COMMIT := $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
PREFIX ?= /usr/local

# Open MPI, for MPI=1: found by pkg-config, or by its compiler wrapper.
ifneq ($(MPI),)
MPI_CFLAGS := $(shell pkg-config --cflags ompi-c 2>/dev/null || mpicc --showme:compile 2>/dev/null)
MPI_LIBS := $(shell pkg-config --libs ompi-c 2>/dev/null || mpicc --showme:link 2>/dev/null)
ifeq ($(MPI_LIBS),)
$(error MPI=1 needs Open MPI, on Debian: apt-get install libopenmpi-dev openmpi-bin)
endif
CPPFLAGS += -DORRERY_MPI $(patsubst -I%,-isystem %,$(MPI_CFLAGS))
endif

CPPFLAGS += -I. -I$(B) -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE
# At a fixed address a program starts without relocating the table that the sanitizer keeps of all globals, and with the
# sanitizers inside it without looking up their names.
LDFLAGS_asan  := -no-pie $(if $(findstring clang,$(CC)),,-static-libasan -static-libubsan)
# Programs that are started thousands of times, at a fixed address too.
LDFLAGS_o3    := -no-pie
LDFLAGS_mutant := -no-pie tests/mutate/marks.c
ifneq ($(WITH),)
CFLAGS += -g0
LDFLAGS += -no-pie
endif
ALL_CFLAGS := -std=c17 $(WARN) $(STRICT) $(FLAGS_$(MODE)) -ffp-contract=off -fno-math-errno -pthread $(CPPFLAGS) $(CFLAGS)
LDLIBS := -lsqlite3 -lgsl -lgslcblas -lcsv -lcjson -lglpk -lz -lm -lpthread -ldl $(MPI_LIBS)

# The C files of a folder and of the folders in it, three levels deep.
below = $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)

LIB_SRC  := $(filter-out policies/examples/% $(if $(MPI),,sim/study/mpi.c),$(foreach room,core catalog world store study,$(call below,sim/$(room))) \
              $(call below,models) $(call below,policies) $(call below,traces) $(call below,analysis))
CLI_SRC  := $(filter-out sim/cli/main.c,$(call below,sim/cli))
SUITES   := $(call below,tests/unit) $(wildcard tests/property/*.c tests/oracle/*.c tests/golden/*.c)
# Without sanitizers `make test` runs only the tests that ask for it, with the twins that several suites use.
ifeq ($(MODE),o3)
SUITES   := $(sort $(shell grep -lE '^TEST_(OPTIMISED|SIZED)' $(SUITES); grep -LE '^TEST' $(SUITES)) $(wildcard tests/oracle/naive_*.c))
endif
FUZZERS  := $(wildcard tests/fuzz/*.c)
WORLDS   := $(filter-out tests/support/worlds/main.c,$(wildcard tests/support/worlds/*.c))
HARNESS  := $(wildcard tests/support/*.c) $(WORLDS) $(FUZZERS)
BENCHES  := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))

# WITH=build/o3 compiles only what the result of a simulation depends on, and takes the other objects from that build:
# for tests/cli/compilers.sh, which compares compilers and levels of optimisation.
DECIDING := $(addsuffix /%,sim/core sim/catalog sim/world sim/store models policies traces)
# Of this, what its scenario does not reach: all of IDLE but REACHED.
IDLE := $(addsuffix /%,policies traces models/training $(addprefix sim/world/,failures market power rl)) \
    sim/catalog/huggingface_% $(addprefix models/operators/,exchange.c expert_% moe.c)
REACHED := $(addprefix policies/,registry.c $(addprefix batching/,making_room.c priority_order.c vllm_v0.c vllm_v1.c) \
    $(addprefix placement/,first_fit.c scored.c) $(addprefix routing/,least.c least_outstanding.c round_robin.c) \
    $(addprefix scheduler/,pending.c preemptive.c ranking.c srtf.c)) \
    $(addprefix traces/,reader.c reader_width.c registry.c resample.c stream.c transform.c unread.c \
        $(addprefix formats/,file_trace.c json_row.c json_line.c user_requests.c user_tables.c) \
        $(addprefix generate/,arrival.c distribution.c requests.c)) \
    sim/world/failures/failure_config.c sim/world/power/power.c
ifneq ($(wildcard $(REACHED)),$(REACHED))
$(error REACHED names files that do not exist: $(filter-out $(wildcard $(REACHED)),$(REACHED)))
endif
idle = $(filter-out $(REACHED),$(filter $(IDLE),$(1)))
anew = $(filter-out $(idle),$(filter $(DECIDING),$(1)))
obj = $(patsubst %.c,$(B)/%.o,$(if $(WITH),$(anew),$(1))) \
    $(if $(WITH),$(patsubst %.c,$(B)/idle/%.o,$(idle)) $(patsubst %.c,$(WITH)/%.o,$(filter-out $(anew) $(idle),$(1))))
LIB := $(B)/liborrery.a
# Lets a program with sanitizers start in fewer page faults, and end without a search for leaks where none can be.
START := $(if $(filter asan,$(MODE)),$(call obj,$(wildcard tests/support/sanitized/*.c)))

Q := $(if $(V),,@)
# Printed by make itself, which starts no process for it; so are the folders of objects made, all at once.
note = $(if $(V),,$(info $()  $(1)  $(2)))
# Rewrites the target with a text when it says something else, so that what depends on it follows a change, not a time.
keep = @mkdir -p $(@D); echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

## make            build build/orrery
all: build/orrery

build/orrery: $(B)/orrery FORCE
	@[ "$$(readlink $@)" = "$(<:build/%=%)" ] || ln -sf $(<:build/%=%) $@

# The headers for policies of a user's own, and what the program exports to these: all that the headers declare.
POLICY_HEADERS := $(filter-out %/instance.h,$(wildcard sim/world/policy/*.h)) \
    $(addprefix sim/core/,change_log.h check.h config/config_field.h err.h mem.h rng.h units.h vec.h) \
    $(addprefix models/,fragmentation.h hardware.h iteration.h offload.h piece.h roofline.h speedup.h stated.h storage.h transformer.h)

$(B)/orrery: $(call obj,sim/cli/main.c $(CLI_SRC)) $(START) $(LIB) $(B)/exports
	$(call note,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -Wl,--dynamic-list=$(B)/exports -o $@ $(filter-out $(B)/exports,$^) $(LDLIBS)

# The program for other machines: libraries are linked statically where the compiler finds their archives. libc stays
# dynamic, since plug-ins are loaded by dlopen. A library that stays dynamic is also looked for beside the program, in
# lib/orrery. GLPK's archive calls those behind it; Debian has libltdl's without its -dev package. The linker's trace
# names the archives: their licences are packed.
archive = $(filter /%,$(shell $(CC) -print-file-name=lib$(1:-l%=%).a))
prefer_archives = $(foreach lib,$(1),$(or $(call archive,$(lib)),$(lib)))
STATIC_LIBS = $(call prefer_archives,-lsqlite3 -lgsl -lgslcblas -lcsv -lcjson -lglpk) \
    $(if $(call archive,-lglpk),$(foreach lib,-lcolamd -lamd -lsuitesparseconfig -lgmp,$(call archive,$(lib))) \
        $(or $(call archive,-lltdl),-l:libltdl.so.7)) $(call prefer_archives,-lz)
link-static:
	$(call note,LINK,$(B)/static/orrery)
	@mkdir -p $(B)/static
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -s -Wl,--trace -Wl,--as-needed -Wl,--dynamic-list=$(B)/exports \
	    '-Wl,-rpath,$$ORIGIN/../lib/orrery' -o $(B)/static/orrery $(call obj,sim/cli/main.c $(CLI_SRC)) $(LIB) \
	    $(STATIC_LIBS) -lm -lpthread -ldl $(MPI_LIBS) >$(B)/static/trace

print-policy-headers:
	@echo $(POLICY_HEADERS)
# What WITH leaves out, for another compiler's warnings.
check-syntax: $(patsubst %,$(B)/analysis/report/%.inc,style.css script.js)
	@sh tests/support/clang_once.sh - '$(filter-out $(call anew,$(LIB_SRC) $(CLI_SRC)),$(LIB_SRC) $(CLI_SRC))' \
	    $(CC) $(ALL_CFLAGS) '-DORRERY_COMMIT=""' '-DORRERY_PREFIX=""'
optimised: $(B)/orrery $(B)/tests/run
print-libraries:
	@echo $(LDLIBS)

# Names that are global in the library and stand in one of the headers.
$(B)/exports: $(LIB) $(POLICY_HEADERS)
	@nm -g --defined-only $(LIB) | awk 'NF == 3 { print $$3 }' | LC_ALL=C sort -u | \
	    awk 'NR == FNR { global[$$1]; next } \
	         { while (match($$0, /[A-Za-z_][A-Za-z0-9_]*/)) { name = substr($$0, RSTART, RLENGTH); \
	             if (name in global) found[name]; $$0 = substr($$0, RSTART + RLENGTH) } } \
	         END { print "{"; for (name in found) print name ";" | "LC_ALL=C sort"; close("LC_ALL=C sort"); print "};" }' \
	        - $(POLICY_HEADERS) >$@

$(LIB): $(call obj,$(LIB_SRC)) $(B)/sources
	$(call note,AR,$@)
	@rm -f $@
	$(Q)ar rcs $@ $(filter %.o,$^)

$(B)/%.o: %.c $(B)/flags | build/deps.ok
	$(call note,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(DEFINES) -MMD -MP -c -o $@ $<

# What the scenario does not reach, of the other build. Its code becomes data: a scenario that reaches it dies, so that
# REACHED cannot lack a file.
ifneq ($(WITH),)
STILL = $(foreach text,.text .text.unlikely .text.hot .text.startup,--rename-section $(text)=.data.idle,alloc,load,data)
$(patsubst %.c,$(B)/idle/%.o,$(call idle,$(LIB_SRC))): $(B)/idle/%.o: $(WITH)/%.o
	@mkdir -p $(@D)
	$(Q)objcopy $(STILL) $< $@
endif

# With clang, what WITH compiles comes from one process.
ifneq ($(and $(WITH),$(findstring clang,$(CC))),)
AT_ONCE := $(call anew,$(LIB_SRC) $(CLI_SRC))
$(B)/at-once: $(AT_ONCE) $(shell find sim models policies traces -name "*.h") $(B)/flags | build/deps.ok
	$(call note,CC,$(B))
	$(Q)sh tests/support/clang_once.sh $(B) '$(if $(filter-out %.c,$?),$(AT_ONCE),$?)' $(CC) $(ALL_CFLAGS) && touch $@
$(AT_ONCE:%.c=$(B)/%.o): $(B)/at-once ;
endif

# The sanitized build spends less time where optimising pays, on hashes and placement, and where it does not: on verbs,
# pages and charts, and on tests that do no more than set up runs and read their results: tests/support/bed.c keeps the
# rows of all of them.
ifeq ($(MODE),asan)
BRIEF := $(addprefix analysis/,report plot figure compare gate) sim/cli tests/unit tests/property tests/bench
# Half of the rest is compiled by -Og, which takes three quarters of the time of -O1. Its tests take no longer.
LIGHT := sim/catalog sim/study sim/store $(addprefix sim/world/,failures jobs market power rl rows service) models/training \
    $(addprefix policies/,autoscaling batching eviction kv_offload rental scheduler speculation) traces tests/oracle
$(call obj,$(filter-out sim/study/guard.c tests/oracle/blocking_shops.c,$(foreach folder,$(LIGHT),$(call below,$(folder))))): DEFINES = -Og
$(call obj,sim/core/hash.c sim/study/guard.c $(call below,policies/placement) $(call below,sim/world/cluster)): DEFINES = -O2
$(call obj,$(foreach folder,$(BRIEF),$(call below,$(folder))) $(filter-out tests/support/bed.c,$(HARNESS))): DEFINES = -O0
$(START): DEFINES = -fno-sanitize=all
endif
# Optimised is what the result and the time of a simulation depend on, and some of what computes around it. The guard
# hashes all that a policy sees, at each of its calls. Some policies and formats take less time than their
# optimisation.
ifeq ($(MODE),o3)
COMPUTING := analysis/calibrate/% analysis/stats/% analysis/replicates.c sim/study/%
$(call obj,$(filter-out $(DECIDING) $(COMPUTING),$(LIB_SRC) $(CLI_SRC)) $(HARNESS)): DEFINES = -O0
$(call obj,$(filter-out $(addprefix policies/,placement/% scheduler/gavel/% scheduler/goodput/%) traces/reader% \
    sim/world/failures/% sim/world/power/%,$(call idle,$(LIB_SRC)))): DEFINES = -O1
$(call obj,$(filter-out sim/study/guard.c,$(filter $(COMPUTING),$(LIB_SRC))) $(SUITES)): DEFINES = -O1
endif

$(B)/sim/cli/version.o: DEFINES = -DORRERY_COMMIT='"$(GIT_COMMIT)"'
$(B)/sim/cli/version.o: $(B)/commit
$(B)/sim/cli/paths.o: DEFINES = -DORRERY_PREFIX='"$(TO)"'
$(B)/sim/cli/paths.o: $(B)/prefix

# The style sheet and the script of reports: each line becomes a string.
$(call obj,analysis/report/page.c): $(patsubst %,$(B)/analysis/report/%.inc,style.css script.js)
$(B)/analysis/report/%.inc: analysis/report/%
	@mkdir -p $(@D)
	$(Q)sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n",/' $< >$@

$(B)/flags: FORCE
	@mkdir -p $(sort $(dir $(patsubst %,$(B)/%,$(LIB_SRC) $(CLI_SRC) $(SUITES) $(HARNESS) $(call below,tests/bench)) $(START)))
	$(call keep,$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)))
$(B)/sources: FORCE
	$(call keep,$(LIB_SRC)$(if $(WITH), but $(call idle,$(LIB_SRC))))
$(B)/suites: FORCE
	$(call keep,$(SUITES))
$(B)/commit: FORCE
	$(call keep,$(GIT_COMMIT))
$(B)/prefix: FORCE
	$(call keep,$(TO))
FORCE:

## make deps       install what is missing (as root), else print the one command to type
deps build/deps.ok: .ci/deps
	@mkdir -p build
	@.ci/deps && touch build/deps.ok

## make run        simulate a sample LLM service: summary on the terminal, one more run in results.db
run: build/orrery
	build/orrery run configs/scenarios/quickstart.json -o results.db

$(B)/tests/run: $(call obj,$(HARNESS) $(SUITES) $(CLI_SRC)) $(START) $(LIB) $(B)/suites
	@mkdir -p $(@D)
	$(call note,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $(filter-out $(B)/suites,$^) -lcunit $(LDLIBS)

# Freed memory returns after 16 MB more are freed, not 256: a process touches fewer fresh pages, which the kernel
# clears.
SANITIZED := detect_leaks=1:quarantine_size_mb=16
## make test       unit, property, oracle, golden, cli and lint tests under ASan and UBSan; T=name runs the ones so named
test:
	@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) MODE=asan WERROR=1 run-tests
run-tests: $(B)/tests/run $(B)/orrery $(if $(or $(if $(T),,all),$(findstring bench,$(T)),$(findstring cli,$(T))),$(BENCHES))
	@$(if $(T),,$(MAKE) --no-print-directory MODE=o3 WERROR= CI= optimised)
	@OPTIMISED=$(if $(T),,$(patsubst build/asan%,build/o3%,$(B))) ORRERY=$(B)/orrery BUILD=$(B) ASAN_OPTIONS=$(SANITIZED) $(B)/tests/run $(T)

## make coverage   print the lines that tests reach in the optimised build only: no sanitizer looks there
coverage:
	@$(MAKE) --no-print-directory MODE=cov optimised
	@$(MAKE) --no-print-directory MODE=o3 optimised
	@sh tests/support/coverage.sh

## make accept     write the golden results anew; the body of the commit says what moved them
accept: build/orrery $(B)/tests/worlds
	@for golden in tests/golden/*.sh; do ACCEPT=1 sh $$golden || exit 1; done
	@$(B)/tests/worlds repeat <tests/golden/worlds.jsonl >$(B)/worlds.jsonl && mv $(B)/worlds.jsonl tests/golden/
	@$(B)/tests/worlds policies >$(B)/policies.txt && mv $(B)/policies.txt tests/golden/
	@mkdir -p $(B)/variants && $(B)/tests/worlds files $(B)/variants >$(B)/files.txt && mv $(B)/files.txt tests/golden/

## make bench      one JSON line per benchmark (FULL=1 for the whole table)
bench: $(BENCHES)
	@tests/bench/run.sh '$(filter-out 0,$(FULL))' $^
$(B)/bench/%: $(B)/tests/bench/%.o \
    $(call obj,$(wildcard tests/bench/peers/*.c tests/bench/shared/*.c) $(CLI_SRC)) $(START) $(LIB)
	@mkdir -p $(@D)
	$(call note,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LDLIBS)

## make fuzz       fuzz each target of tests/fuzz with clang for FUZZ_S=60 seconds
FUZZ_S ?= 60
fuzz:
	@$(MAKE) --no-print-directory MODE=fuzz CC=clang run-fuzz
run-fuzz: $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZERS))
	@for target in $^; do name=$${target##*/}; mkdir -p $(B)/corpus/$$name; \
	    $$target -max_total_time=$(FUZZ_S) -max_len=4096 -artifact_prefix=$(B)/fuzz/ -print_final_stats=1 \
	        $(B)/corpus/$$name tests/fuzz/corpus/$$name || exit 1; done
$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(call obj,$(wildcard tests/support/*_table.c)) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)

## make worlds     try N=10000 random scenarios from SEED=1 on all cores, shrink what has findings; MODE=asan as well
N ?= 10000
SEED ?= 1
worlds: $(B)/tests/worlds
	@ASAN_OPTIONS=$(SANITIZED) $< $(N) $(SEED)
$(B)/tests/worlds: $(call obj,$(WORLDS) tests/support/worlds/main.c $(CLI_SRC)) $(LIB)
	@mkdir -p $(@D)
	$(call note,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS) -o $@ $^ $(LDLIBS)

## make mutate     plant MUTANTS=400 small bugs drawn from SEED=1, one by one, and count those that tests notice
MUTANTS ?= 400
mutate:
	@sh tests/mutate/mutate.sh $(MUTANTS) $(SEED) $(FILES)

## make faults     fail or kill every call that writes at every FAULTS_STEP=1-th place, for hours; ROWS=name, MODE=asan
FAULTS_STEP ?= 1
faults: $(B)/orrery
	@FULL=$(FAULTS_STEP) FAULTS='$(ROWS)' JOBS=$(shell nproc) ORRERY=$(B)/orrery ASAN_OPTIONS=$(SANITIZED) \
	    sh tests/cli/faults.sh

## make lint       include directions, function and file sizes, clang-tidy where it is installed
lint: $(LIB) build/orrery
	@for check in tests/lint/*.sh; do \
	    echo "== $$check"; LINT_ALL=1 sh $$check; status=$$?; [ $$status = 0 ] || [ $$status = 77 ] || exit 1; \
	done

# What configs/calibration/sources.json has of a part: its names, or a name's files or like.
DATA ?= ../shared/data
sources = $(shell DATA='$(DATA)' analysis/calibrate/sources.sh $(1) $(2) $(3))
# The targets of a part: PREFIX, PART, names chosen by the user; asked for only when they are to be made.
parts = $(if $(filter $(2),$(MAKECMDGOALS)),$(addprefix $(1),$(or $(3),$(call sources,$(2)))))
comma := ,

## make calibration  fit every GPU, or T=gpu, anew to the profiles below DATA=../shared/data, into configs/calibration
calibration: $(call parts,refit-,calibration,$(T))
refit-%: like = $(call sources,calibration,$*,like)
refit-%: files = $(call sources,calibration,$*,files)
refit-%: sets = $(call sources,calibration,$*,sets)
refit-%: build/orrery FORCE
	@mkdir -p build/calibration
	@echo '{"gpu": "$*",$(if $(like), "like": "$(like)"$(comma)) "sets": {}}' >build/calibration/$*.json
	$(if $(files),build/orrery calibrate --gpu $* $(files) -o build/calibration/$*.json >build/calibration/$*.txt)
	$(foreach set,$(sets),build/orrery calibrate --gpu $* --set $(set) $(call sources,calibration,$*,$(set)) \
	    -o build/calibration/$*.json >build/calibration/$*-$(set).txt &&) true
	@mkdir -p configs/calibration && mv build/calibration/$*.json configs/calibration/

## make power      fit the power of every GPU, or T=gpu, anew to the measurements below DATA, into configs/calibration/power
power: $(call parts,power-,power,$(T))
power-%: files = $(call sources,power,$*,files)
power-%: like = $(call sources,power,$*,like)
power-%: build/orrery FORCE
	$(if $(files)$(like),,$(error name the files of '$*', or a GPU like it, below "power" in configs/calibration/sources.json))
	@mkdir -p configs/calibration/power
	$(if $(files),build/orrery calibrate power --gpu $* $(files) -o configs/calibration/power/$*.json \
	    >build/power-$*.txt,@echo '{"gpu": "$*", "like": "$(like)"}' >configs/calibration/power/$*.json)

## make engines    fit the CPU overhead of every engine, or E=name, anew to measured iterations, into configs/engines
engines: $(call parts,engine-,engines,$(E))
engine-%: build/orrery FORCE
	@mkdir -p configs/engines
	build/orrery calibrate --engine $* $(call sources,engines,$*,files) -o configs/engines/$*.json >build/engine-$*.txt

## make accuracy   write the generated tables of the pages anew, those about accuracy among them
accuracy: build/orrery
	@sh tests/lint/generated.sh --fix

## make pictures   draw the pictures of the pages anew: scenarios and studies, and with Graphviz the graphs of sim/
pictures: build/orrery
	@ORRERY=build/orrery configs/scenarios/pictures/draw.sh

# Headers for policies keep their paths below include/orrery, since they name each other by these. Paths may hold
# blanks, so the functions of make, which take lists apart at blanks, stay away from them.
TO := $(if $(filter /%,$(firstword $(PREFIX))),$(PREFIX),$(CURDIR)/$(PREFIX))
INSTALLED := $(DESTDIR)$(TO)
PKG_CONFIG := $(INSTALLED)/lib/pkgconfig/orrery.pc
MANUAL := $(INSTALLED)/share/man/man1/orrery.1
BASH_COMPLETION := $(INSTALLED)/share/bash-completion/completions/orrery
ZSH_COMPLETION := $(INSTALLED)/share/zsh/site-functions/_orrery
FISH_COMPLETION := $(INSTALLED)/share/fish/vendor_completions.d/orrery.fish
POLICY_ABI := $(shell sed -n 's/^enum { POLICY_ABI = \([0-9]*\) };/\1/p' sim/world/policy/policy.h)
PROGRAM := $(B)/orrery
VERSION = $(shell $(PROGRAM) --version | cut -d' ' -f2)
POLICY_PAGES := $(wildcard sim/world/policy/README.md sim/world/policy/*/README.md)
EXAMPLES := $(wildcard $(addprefix policies/examples/,Makefile *.c *.json *.sql))

## make install    PREFIX/bin/orrery, its data, headers for policies, pkg-config file, manual page, shell completions
install: $(B)/orrery
	@$(MAKE) --no-print-directory install-files
install-files:
	install -D '$(PROGRAM)' '$(INSTALLED)/bin/orrery'
	mkdir -p '$(INSTALLED)/share/orrery/traces' '$(INSTALLED)/share/orrery/analysis'
	cp -r configs '$(INSTALLED)/share/orrery/'
	cp -r analysis/sql '$(INSTALLED)/share/orrery/analysis/'
	for file in $(wildcard analysis/python/*.* $(addprefix analysis/calibrate/kit/,README.md *.py orrery_kit/*.py)); do install -D -m 644 $$file '$(INSTALLED)'/share/orrery/$$file || exit 1; done
	cp -r traces/samples '$(INSTALLED)/share/orrery/traces/'
	for file in policies/README.md $(POLICY_PAGES) $(EXAMPLES); do install -D -m 644 $$file '$(INSTALLED)'/share/orrery/$$file || exit 1; done
	for header in $(POLICY_HEADERS); do install -D -m 644 $$header '$(INSTALLED)'/include/orrery/$$header || exit 1; done
	for file in '$(PKG_CONFIG)' '$(MANUAL)' '$(BASH_COMPLETION)' '$(ZSH_COMPLETION)' '$(FISH_COMPLETION)'; do \
	    install -D -m 644 /dev/null "$$file" || exit 1; done
	printf '%s\n' 'prefix=$(TO)' 'includedir=$${prefix}/include/orrery' 'abi=$(POLICY_ABI)' '' 'Name: orrery' \
	    'Description: Policies for the Orrery simulator of GPU datacenters' 'Version: $(VERSION)' \
	    'Cflags: -I"$${includedir}"' 'Libs:' >'$(PKG_CONFIG)'
	'$(PROGRAM)' help --man >'$(MANUAL)'
	'$(PROGRAM)' help --bash >'$(BASH_COMPLETION)'
	'$(PROGRAM)' help --zsh >'$(ZSH_COMPLETION)'
	'$(PROGRAM)' help --fish >'$(FISH_COMPLETION)'

## make uninstall  take all of that away again
uninstall:
	rm -f '$(INSTALLED)/bin/orrery' '$(PKG_CONFIG)' '$(MANUAL)'
	rm -f '$(BASH_COMPLETION)' '$(ZSH_COMPLETION)' '$(FISH_COMPLETION)'
	rm -rf '$(INSTALLED)/share/orrery' '$(INSTALLED)/include/orrery'

## make dist       build/dist: a tarball and a Debian package, with static libraries where Debian has them
dist: $(B)/orrery
	@$(MAKE) --no-print-directory link-static
	@.ci/dist $(B)/static/orrery build/dist

## make clean      remove build/
clean:
	rm -rf build

## make help       this list
help:
	@sed -n 's/^## //p' Makefile

-include $(shell find build -name '*.d' 2>/dev/null)

.PHONY: all deps run test run-tests coverage accept bench fuzz run-fuzz worlds mutate faults lint calibration power engines accuracy pictures install install-files \
    uninstall dist link-static clean help print-policy-headers print-libraries check-syntax optimised FORCE
.SECONDARY:
