/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process gives a program, in steps named by arguments. Each prints lines that begin with
 * the rank, and prints the same whether the rank is a process or a thread of one.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static int rank = -1;
static int global = 5;
static int zeroed[1000];
static int* pointer = &global;
static __thread int local = 7;
static __thread char local_zeroed[3000];
static __thread int* local_pointer = &global;
static int constructed;
static int is_left_to_any_thread; /* which one ends the program */

/* One write a line: ranks share the stream. */
__attribute__((format(printf, 1, 2))) static void say(const char* format, ...)
{
    char line[400];
    int length = snprintf(line, sizeof line, "%d: ", rank);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    fwrite(line, 1, (size_t)length, stdout);
    fflush(stdout);
}

__attribute__((constructor)) static void construct(int count, char** words, char** variables)
{
    const char* text = getenv("MPI_LOCALRANKID");
    rank = text == NULL ? -1 : atoi(text);
    constructed += count > 1 && words[1] != NULL && variables == environ && local == 7;
    local++;
}

__attribute__((destructor)) static void destroy(void)
{
    say("destructor %d %d", global, is_left_to_any_thread ? 0 : local);
}

static void first_registered(void)
{
    say("registered first");
}
static void second_registered(void)
{
    say("registered second");
    atexit(first_registered);
}
static void with_code(int code, void* text)
{
    say("on_exit %d %s", code, (char*)text);
}

static void show_data(void)
{
    global += rank;
    local += rank;
    zeroed[999]++;
    local_zeroed[2999]++;
    say("data %d %d %d %d %d %d %d", global, local, zeroed[999], local_zeroed[2999], *pointer,
        *local_pointer, constructed);
}

static void* change_local(void* argument)
{
    local += 100;
    local_zeroed[0] = 1;
    *(int*)argument = local;
    return NULL;
}

static int c_thread(void* argument)
{
    *(int*)argument = local + 1;
    return 9;
}

static void show_threads(void)
{
    int seen[3] = {0};
    int result = 0;
    pthread_t first;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_create(&first, &small, change_local, &seen[0]);
    pthread_join(first, NULL);
    pthread_create(&first, NULL, change_local, &seen[1]);
    pthread_join(first, NULL);
    thrd_t second;
    thrd_create(&second, c_thread, &seen[2]);
    thrd_join(second, &result);
    say("threads %d %d %d %d own %d", seen[0], seen[1], seen[2], result, local);
}

static void show_environment(void)
{
    char text[40];
    snprintf(text, sizeof text, "value%d", rank);
    setenv("OWN", text, 1);
    static char put[40];
    snprintf(put, sizeof put, "PUT=%d", rank);
    putenv(put);
    unsetenv("GIVEN");
    int found = 0;
    for (char** each = environ; *each != NULL; each++) {
        found += strncmp(*each, "OWN=", 4) == 0 || strncmp(*each, "PUT=", 4) == 0;
    }
    say("environment %s %s %s %d", getenv("OWN"), getenv("PUT"),
        getenv("GIVEN") == NULL ? "-" : "given", found);
}

static void show_libc(void)
{
    srand((unsigned)rank);
    const int first = rand();
    sched_yield();
    const int second = rand();
    srand48(rank);
    const double third = drand48();
    char words[] = "a b c";
    char joined[10] = "";
    for (char* word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        strcat(joined, word);
        sched_yield();
    }
    const time_t moment = 86400 * (time_t)rank;
    const struct tm* parts = gmtime(&moment);
    sched_yield();
    say("libc %d %d %f %s %d", first, second, third, joined, parts->tm_mday);
}

/* Zones that differ from rank to rank, while others convert in theirs. */
static void show_zone(void)
{
    static const char* const zones[] = {"AAA1", "BBB-2CCC", ":Europe/Berlin", "", "AAA1"};
    const time_t summer = 962409600;
    const time_t old = 0;
    struct tm parts;
    char text[40] = "";
    say("zone at first %s %s %ld %d", tzname[0], tzname[1], timezone, daylight);
    setenv("TZ", zones[rank % 5], 1);
    tzset();
    say("zone %s %s %ld %d", tzname[0], tzname[1], timezone, daylight);
    int strange = 0;
    for (int round = 0; round < 100; round++) {
        const char* const before = tzname[0];
        const long seconds_before = timezone;
        sched_yield();
        strange += strcmp(tzname[0], before) != 0 || timezone != seconds_before;
        localtime(round % 2 == 0 ? &summer : &old);
    }
    strftime(text, sizeof text, "%H %Z %z", localtime(&summer));
    memset(&parts, 0, sizeof parts);
    parts.tm_year = 100;
    parts.tm_mday = 1;
    const long start = (long)mktime(&parts);
    setenv("TZ", "DDD9", 1);
    localtime_r(&summer, &parts); /* does not look at TZ */
    const int hour = parts.tm_hour;
    say("zone keeps %d %s %ld %d, then %d %s", strange, text, start, hour,
        localtime(&summer)->tm_hour, tzname[0]);
}

/* Which are the program's to change. */
static void change_words(char** words)
{
    for (char* each = words[0]; *each != '\0'; each++) {
        *each = (char)('a' + rank);
    }
    sched_yield();
    say("words %c%c", words[0][0], words[0][1]);
}

static void show_options(int count, char** words)
{
    char line[200] = "";
    int option = 0;
    optind = 2;
    while ((option = getopt(count, words, "a:b")) != -1) {
        const size_t length = strlen(line);
        snprintf(line + length, sizeof line - length, " %c=%s", option, optarg ? optarg : "");
        sched_yield();
    }
    say("options%s then %s", line, optind < count ? words[optind] : "nothing");
}

static void show_place(void)
{
    char name[40];
    char path[400];
    snprintf(name, sizeof name, "of-rank-%d", rank);
    mkdir(name, 0700);
    if (chdir(name) != 0) {
        err(1, "chdir");
    }
    umask((mode_t)rank);
    sched_yield();
    const mode_t mask = umask(0);
    say("place %s %d", strrchr(getcwd(path, sizeof path), '/') + 1, (int)mask);
}

static void show_start(int count, char** words)
{
    char self[400] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        err(1, "readlink");
    }
    const char* name = strrchr(program_invocation_name, '/');
    say("start %d %s %s %s %d %s", count, strrchr(words[0], '/') + 1, name + 1,
        program_invocation_short_name, getauxval(AT_PAGESZ) == 4096, self);
}

static void show_streams(void)
{
    char line[40] = "";
    const int first = getchar();
    if (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
    }
    /* In pieces, without locks, across a pause: the line stays whole. */
    printf("%d: streams", rank);
    sched_yield();
    putchar(' ');
    fputs(first == EOF ? "nothing" : line, stdout);
    sched_yield();
    putc_unlocked('\n', stdout);
}

static void show_fork(void)
{
    /* What waits in a stream must not be written by the children too. */
    printf("%d: before fork\n", rank);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        global = 99;
        exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    const pid_t other = vfork();
    if (other == 0) {
        execlp("sh", "sh", "-c", "exit $((10 + MPI_LOCALRANKID))", (char*)NULL);
        _exit(127);
    }
    int other_status = 0;
    waitpid(other, &other_status, 0);
    say("fork %d %d %d", WEXITSTATUS(status), WEXITSTATUS(other_status), global);
}

static void* exit_from_thread(void* code)
{
    exit(*(int*)code);
}

static void* late_line(void* argument)
{
    (void)argument;
    say("thread after main");
    return NULL;
}

static void end(const char* how)
{
    static int code = 0;
    pthread_t thread;
    if (strcmp(how, "exit") == 0) {
        atexit(second_registered);
        on_exit(with_code, "text");
        exit(0);
    } else if (strcmp(how, "thread-exit") == 0) {
        pthread_create(&thread, NULL, exit_from_thread, &code);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "pthread_exit") == 0) {
        pthread_create(&thread, NULL, late_line, NULL);
        is_left_to_any_thread = 1;
        pthread_exit(NULL);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(0);
    } else if (strcmp(how, "quick_exit") == 0) {
        at_quick_exit(first_registered);
        quick_exit(0);
    } else if (strcmp(how, "code") == 0) {
        exit(rank == 1 ? 256 + 7 : 0); /* a process ends with the low 8 bits */
    } else if (strcmp(how, "err") == 0 && rank == 1) {
        errno = ENOENT;
        err(8, "no luck");
    } else if (strcmp(how, "abort") == 0 && rank == 1) {
        abort();
    } else if (strcmp(how, "segv") == 0 && rank == 1) {
        raise(SIGSEGV);
    }
    /* The others wait to be ended. */
    while (strcmp(how, "err") == 0 || strcmp(how, "abort") == 0 || strcmp(how, "segv") == 0) {
        pause();
    }
}

int main(int count, char** words)
{
    const char* what = words[1];
    const int is_all = strcmp(what, "all") == 0;
    if (is_all || strcmp(what, "all-but-place") == 0) {
        show_start(count, words);
        show_data();
        show_threads();
        show_environment();
        show_libc();
        show_options(count, words);
        if (is_all) {
            show_place();
        }
        show_streams();
        show_fork();
        show_zone();
        change_words(words);
    } else {
        end(what);
    }
    return 0;
}
