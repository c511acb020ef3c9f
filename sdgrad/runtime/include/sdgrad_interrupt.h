// Interrupts by the user (Ctrl-C): loops ask for them, and end the call of the program. Python sees to the signal only
// when a call has returned.
#pragma once

#include "sdgrad_linked.h"

#include <csignal>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

namespace sdgrad
{
    struct Interrupted
    {
    };

    // Set by the signal, until the next call of the main thread.
    inline volatile std::sig_atomic_t interrupted = 0;

    // These are such that a compiler knows: where the loop goes on, no memory has changed.
    SDGRAD_LINKED bool is_main_thread() __attribute__((cold, pure));
    [[noreturn]] SDGRAD_LINKED void end_of_call() __attribute__((cold));

    // End the call if the user wants it, in the main thread: that is where Python raises KeyboardInterrupt.
    inline void poll()
    {
        if (__builtin_expect(interrupted != 0, 0) && is_main_thread())
            end_of_call();
    }

#ifndef SDGRAD_PROGRAM
    SDGRAD_LINKED bool is_main_thread()
    {
#ifdef __linux__
        static thread_local const bool found = syscall(SYS_gettid) == getpid();
        return found;
#elif defined(__APPLE__)
        return pthread_main_np() != 0;
#else
        return false;
#endif
    }

    [[noreturn]] SDGRAD_LINKED void end_of_call()
    {
        throw Interrupted{};
    }

    inline struct sigaction of_python;

    inline void note_interrupt(int signal, siginfo_t *info, void *context)
    {
        interrupted = 1;
        if (of_python.sa_flags & SA_SIGINFO)
            of_python.sa_sigaction(signal, info, context);
        else
            of_python.sa_handler(signal);
    }

    inline bool is_ours(const struct sigaction &action)
    {
        return (action.sa_flags & SA_SIGINFO) && action.sa_sigaction == note_interrupt;
    }

    // Hear of interrupts before Python does. What is there in place of Python's handler, and of ours, is left alone.
    inline void hear()
    {
        static bool known = false;
        struct sigaction now;
        if (sigaction(SIGINT, nullptr, &now) != 0 || is_ours(now))
            return;
        if (!known && ((now.sa_flags & SA_SIGINFO) || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN))
            return;
        if (known && now.sa_handler != of_python.sa_handler)
            return;
        known = true;
        of_python = now;
        now.sa_sigaction = note_interrupt;
        now.sa_flags |= SA_SIGINFO;
        sigaction(SIGINT, &now, nullptr);
    }
#endif
}  // namespace sdgrad

#ifndef SDGRAD_PROGRAM
// Called before a call of a program; `raises` where Python raises KeyboardInterrupt for the signal.
extern "C" SDGRAD_LINKED void sdgrad_hear_interrupts(int raises)
{
    if (!sdgrad::is_main_thread())
        return;
    sdgrad::interrupted = 0;
    if (raises)
        sdgrad::hear();
}
#endif
