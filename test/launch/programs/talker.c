// SPDX-License-Identifier: Apache-2.0
// A rank without MPI: does the steps of its command line in order. A step `2:name` is done by rank
// 2 only. Names with a value are written name=value.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int pmi = -1;

static void send_text(const char* text)
{
    if (write(pmi, text, strlen(text)) != (ssize_t)strlen(text)) {
        _exit(90);
    }
}

static void receive_line(char* line, size_t size)
{
    size_t length = 0;
    while (length + 1 < size && read(pmi, line + length, 1) == 1 && line[length] != '\n') {
        ++length;
    }
    line[length] = '\0';
    if (length == 0) {
        _exit(91);
    }
}

static void exchange(const char* request, const char* answer)
{
    char line[9000];
    send_text(request);
    receive_line(line, sizeof(line));
    if (strncmp(line, answer, strlen(answer)) != 0) {
        fprintf(stderr, "talker: got '%s' where '%s' was due\n", line, answer);
        _exit(92);
    }
}

static void send_hex(const char* digits)
{
    for (; digits[0] != '\0' && digits[1] != '\0'; digits += 2) {
        const char pair[] = {digits[0], digits[1], '\0'};
        const char byte = (char)strtol(pair, NULL, 16);
        if (write(pmi, &byte, 1) != 1) {
            _exit(90);
        }
    }
}

/// Makes an empty file "<prefix><rank>", so that a test knows how far this rank has come.
static void touch(const char* prefix, int rank)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s%d", prefix, rank);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void copy_stdin(void)
{
    char bytes[4096];
    ssize_t count = 0;
    while ((count = read(0, bytes, sizeof(bytes))) > 0) {
        fwrite(bytes, 1, (size_t)count, stdout);
    }
}

/// Lines of 3 to 203 equal letters, written in pieces.
static void write_lines(int count, int rank)
{
    for (int line = 0; line < count; ++line) {
        const int length = 3 + line * 37 % 201;
        for (int at = 0; at < length; ++at) {
            putchar('a' + rank);
            if (at % 50 == 49) {
                fflush(stdout);
            }
        }
        putchar('\n');
        fflush(stdout);
    }
}

static volatile sig_atomic_t caught;

static void note(int number)
{
    caught = number;
}

static void catch_one(int number)
{
    struct sigaction action = {.sa_handler = note};
    sigaction(number, &action, NULL);
}

static void await_one(void)
{
    while (caught == 0) {
        usleep(1000);
    }
    printf("caught %d\n", (int)caught);
    fflush(stdout);
}

static void print_cpus(void)
{
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    printf("cpus %d\n", CPU_COUNT(&cpus));
}

static void do_talk(const char* name, const char* value)
{
    char line[9000];
    if (strcmp(name, "init") == 0) {
        exchange("cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=response_to_init ");
    } else if (strcmp(name, "fence") == 0) {
        exchange("cmd=barrier_in\n", "cmd=barrier_out");
    } else if (strcmp(name, "finalize") == 0) {
        exchange("cmd=finalize\n", "cmd=finalize_ack");
    } else if (strcmp(name, "send") == 0) {
        send_text(value);
        send_text("\n");
    } else if (strcmp(name, "hex") == 0) {
        send_hex(value);
    } else if (strcmp(name, "receive") == 0) {
        receive_line(line, sizeof(line));
        printf("%s\n", line);
        fflush(stdout);
    } else if (strcmp(name, "close") == 0) {
        close(pmi);
    } else {
        fprintf(stderr, "talker: no step is called %s\n", name);
        _exit(93);
    }
}

static void do_step(const char* name, const char* value, int rank)
{
    if (strcmp(name, "print") == 0) {
        printf("%s\n", value);
        fflush(stdout);
    } else if (strcmp(name, "part") == 0) {
        printf("%s", value);
        fflush(stdout);
    } else if (strcmp(name, "error") == 0) {
        fprintf(stderr, "%s\n", value);
    } else if (strcmp(name, "env") == 0) {
        printf("%s=%s\n", value, getenv(value) == NULL ? "(none)" : getenv(value));
    } else if (strcmp(name, "where") == 0) {
        printf("%s\n", getcwd(NULL, 0));
    } else if (strcmp(name, "cpus") == 0) {
        print_cpus();
    } else if (strcmp(name, "lines") == 0) {
        write_lines(atoi(value), rank);
    } else if (strcmp(name, "stdin") == 0) {
        copy_stdin();
    } else if (strcmp(name, "touch") == 0) {
        touch(value, rank);
    } else if (strcmp(name, "exit") == 0) {
        exit(atoi(value));
    } else if (strcmp(name, "kill") == 0) {
        raise(atoi(value));
    } else if (strcmp(name, "ignore") == 0) {
        signal(atoi(value), SIG_IGN);
    } else if (strcmp(name, "catch") == 0) {
        catch_one(atoi(value));
    } else if (strcmp(name, "await") == 0) {
        await_one();
    } else if (strcmp(name, "child") == 0) {
        if (fork() == 0) {
            setsid();
            execlp("sleep", "sleep", value, NULL);
        }
    } else if (strcmp(name, "pause") == 0) {
        while (1) {
            pause();
        }
    } else {
        do_talk(name, value);
    }
}

int main(int count, char** steps)
{
    const char* descriptor = getenv("PMI_FD");
    const char* rank_text = getenv("PMI_RANK");
    const int rank = rank_text == NULL ? 0 : atoi(rank_text);
    pmi = descriptor == NULL ? -1 : atoi(descriptor);
    for (int index = 1; index < count; ++index) {
        char* step = steps[index];
        char* after = NULL;
        const long who = strtol(step, &after, 10);
        if (after != step && *after == ':') {
            step = after + 1;
            if (who != rank) {
                continue;
            }
        }
        char* equals = strchr(step, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        do_step(step, equals == NULL ? "" : equals + 1, rank);
    }
    return 0;
}
