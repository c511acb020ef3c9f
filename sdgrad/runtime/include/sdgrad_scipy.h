// Special functions of SciPy, called by their addresses in scipy.special.cython_special. These are set when a program
// that calls some of them is loaded (runtime/compile/scipy_functions.py, which reads the names below), or by the first
// call, if DaCe has loaded it.
#pragma once

#ifndef __CUDACC__
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>

extern "C" {
inline __attribute__((visibility("default"))) int sdgrad_calls_scipy = 1;  // a symbol of programs with such calls
}

// In this library, and in no other: all libraries of a process share the symbol above, as GCC makes it unique.
static const int sdgrad_here = 1;

[[noreturn]] static void sdgrad_lacks_scipy() {
    std::fputs("sdgrad: no Python with SciPy in this process, whose special functions this program calls\n", stderr);
    std::abort();
}

// Asks the Python of this process to set the addresses in this library.
static void sdgrad_find_scipy() {
    auto take = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
    auto run = reinterpret_cast<int (*)(const char *)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
    auto give = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
    Dl_info own;
    bool found = take && run && give && sdgrad_calls_scipy && dladdr(&sdgrad_here, &own);
    if (found) {
        char text[5000];
        std::snprintf(
            text, sizeof text,
            "__import__('sdgrad.runtime.compile.scipy_functions', fromlist=['bind_file']).bind_file(r'%s')", own.dli_fname);
        const int state = take();
        found = run(text) == 0;
        give(state);
    }
    if (!found) sdgrad_lacks_scipy();
}

// The first call of a function by a variable: it is another one afterwards. The variables refer to the symbol, so that
// it is in a library whenever one of them is.
template <typename F> struct SdgradFirst;
template <typename R, typename... A> struct SdgradFirst<R (*)(A...)> {
    template <R (**Function)(A...)> static R call(A... given) {
        sdgrad_find_scipy();
        if (*Function == &call<Function>) sdgrad_lacks_scipy();  // it would call itself for ever
        return (*Function)(given...);
    }
};
#define SDGRAD_FIRST(name) &SdgradFirst<decltype(sdgrad_scipy_##name)>::template call<&sdgrad_scipy_##name>
#define SDGRAD_SCIPY(name, Types, parameters, arguments) \
    extern "C" { \
    inline __attribute__((visibility("default"))) double(*sdgrad_scipy_##name) Types = \
        SDGRAD_FIRST(name); \
    } \
    inline double scipy_##name parameters { return sdgrad_scipy_##name arguments; }
#define SDGRAD_SCIPY_1(name) SDGRAD_SCIPY(name, (double, int), (double a), (a, 0))
#define SDGRAD_SCIPY_2(name) SDGRAD_SCIPY(name, (double, double, int), (double a, double b), (a, b, 0))
#define SDGRAD_SCIPY_3(name) \
    SDGRAD_SCIPY(name, (double, double, double, int), (double a, double b, double c), (a, b, c, 0))
#define SDGRAD_SCIPY_4(name) \
    SDGRAD_SCIPY(name, (double, double, double, double, int), (double a, double b, double c, double d), (a, b, c, d, 0))
// Functions of one number with several results, of which one is taken.
#define SDGRAD_SCIPY_OUT_2(name, first, second) \
    extern "C" { \
    inline __attribute__((visibility("default"))) void (*sdgrad_scipy_##name)(double, double *, double *) = \
        SDGRAD_FIRST(name); \
    } \
    inline double scipy_##first(double x) { double a, b; sdgrad_scipy_##name(x, &a, &b); return a; } \
    inline double scipy_##second(double x) { double a, b; sdgrad_scipy_##name(x, &a, &b); return b; }
#define SDGRAD_SCIPY_VOID(name, Types) \
    extern "C" { \
    inline __attribute__((visibility("default"))) void (*sdgrad_scipy_##name) Types = \
        SDGRAD_FIRST(name); \
    }
#define SDGRAD_SCIPY_PART(name, parameters, own, k) \
    inline double scipy_##own parameters { double r[4]; SDGRAD_CALL_##name; return r[k]; }
#define SDGRAD_SCIPY_OUT_4(name) SDGRAD_SCIPY_VOID(name, (double, double *, double *, double *, double *))
#define SDGRAD_SCIPY_OF_2_OUT_4(name) SDGRAD_SCIPY_VOID(name, (double, double, double *, double *, double *, double *))
#define SDGRAD_SCIPY_OF_2_OUT_2(name) \
    SDGRAD_SCIPY_VOID(name, (double, double, double *, double *)) \
    inline double scipy_##name##_value(double a, double x) { double r[2]; sdgrad_scipy_##name(a, x, r, r + 1); return r[0]; } \
    inline double scipy_##name##_slope(double a, double x) { double r[2]; sdgrad_scipy_##name(a, x, r, r + 1); return r[1]; }
#define SDGRAD_SCIPY_COMPLEX(name) \
    extern "C" { \
    inline __attribute__((visibility("default"))) std::complex<double> (*sdgrad_scipy_complex_##name)( \
        std::complex<double>, int) = SDGRAD_FIRST(complex_##name); \
    } \
    inline std::complex<double> scipy_##name(std::complex<double> z) { return sdgrad_scipy_complex_##name(z, 0); }

// error functions
SDGRAD_SCIPY_COMPLEX(wofz)
SDGRAD_SCIPY_COMPLEX(erf)
SDGRAD_SCIPY_COMPLEX(erfc)
SDGRAD_SCIPY_COMPLEX(dawsn)
SDGRAD_SCIPY_1(dawsn)
SDGRAD_SCIPY_1(erfcinv)
SDGRAD_SCIPY_1(erfcx)
SDGRAD_SCIPY_1(erfi)
SDGRAD_SCIPY_1(erfinv)
SDGRAD_SCIPY_1(log_ndtr)
SDGRAD_SCIPY_1(ndtri)
SDGRAD_SCIPY_1(ndtri_exp)
SDGRAD_SCIPY_2(owens_t)
SDGRAD_SCIPY_OUT_2(fresnel, fresnel_sine, fresnel_cosine)
// Bessel functions
SDGRAD_SCIPY_OUT_4(airy)
#define SDGRAD_CALL_airy sdgrad_scipy_airy(x, r, r + 1, r + 2, r + 3)
SDGRAD_SCIPY_PART(airy, (double x), airy_ai, 0)
SDGRAD_SCIPY_PART(airy, (double x), airy_aip, 1)
SDGRAD_SCIPY_PART(airy, (double x), airy_bi, 2)
SDGRAD_SCIPY_PART(airy, (double x), airy_bip, 3)
SDGRAD_SCIPY_1(i0)
SDGRAD_SCIPY_1(i0e)
SDGRAD_SCIPY_1(i1)
SDGRAD_SCIPY_1(i1e)
SDGRAD_SCIPY_2(iv)
SDGRAD_SCIPY_2(ive)
SDGRAD_SCIPY_1(j0)
SDGRAD_SCIPY_1(j1)
SDGRAD_SCIPY_2(jv)
SDGRAD_SCIPY_2(jve)
SDGRAD_SCIPY_1(k0)
SDGRAD_SCIPY_1(k0e)
SDGRAD_SCIPY_1(k1)
SDGRAD_SCIPY_1(k1e)
SDGRAD_SCIPY_2(kv)
SDGRAD_SCIPY_2(kve)
SDGRAD_SCIPY_2(struve)
SDGRAD_SCIPY_2(modstruve)
SDGRAD_SCIPY_1(y0)
SDGRAD_SCIPY_1(y1)
SDGRAD_SCIPY_2(yv)
SDGRAD_SCIPY_2(yve)
// Kelvin, Airy, parabolic cylinder functions, and integrals
SDGRAD_SCIPY_1(ber)
SDGRAD_SCIPY_1(bei)
SDGRAD_SCIPY_1(berp)
SDGRAD_SCIPY_1(beip)
SDGRAD_SCIPY_1(ker)
SDGRAD_SCIPY_1(kei)
SDGRAD_SCIPY_1(kerp)
SDGRAD_SCIPY_1(keip)
SDGRAD_SCIPY_OUT_2(itj0y0, it_j0, it_y0)
SDGRAD_SCIPY_OUT_2(iti0k0, it_i0, it_k0)
SDGRAD_SCIPY_1(itstruve0)
SDGRAD_SCIPY_1(it2struve0)
SDGRAD_SCIPY_1(itmodstruve0)
SDGRAD_SCIPY_OUT_4(itairy)
#define SDGRAD_CALL_itairy sdgrad_scipy_itairy(x, r, r + 1, r + 2, r + 3)
SDGRAD_SCIPY_PART(itairy, (double x), itairy_ai, 0)
SDGRAD_SCIPY_PART(itairy, (double x), itairy_bi, 1)
SDGRAD_SCIPY_PART(itairy, (double x), itairy_minus_ai, 2)
SDGRAD_SCIPY_PART(itairy, (double x), itairy_minus_bi, 3)
SDGRAD_SCIPY_OF_2_OUT_2(pbdv)
SDGRAD_SCIPY_OF_2_OUT_2(pbvv)
SDGRAD_SCIPY_OF_2_OUT_2(pbwa)
// functions of degrees
SDGRAD_SCIPY_1(cosdg)
SDGRAD_SCIPY_1(cotdg)
SDGRAD_SCIPY_1(sindg)
SDGRAD_SCIPY_1(tandg)
// exponential integrals and their kin
SDGRAD_SCIPY_COMPLEX(exp1)
SDGRAD_SCIPY_COMPLEX(expi)
SDGRAD_SCIPY_1(exp1)
SDGRAD_SCIPY_1(expi)
SDGRAD_SCIPY_2(expn)
SDGRAD_SCIPY_1(spence)
SDGRAD_SCIPY_1(wrightomega)
SDGRAD_SCIPY_OUT_2(shichi, shi, chi)
SDGRAD_SCIPY_OUT_2(sici, si, ci)
// gamma and beta functions
SDGRAD_SCIPY_COMPLEX(gamma)
SDGRAD_SCIPY_COMPLEX(loggamma)
SDGRAD_SCIPY_COMPLEX(psi)
SDGRAD_SCIPY_2(binom)
SDGRAD_SCIPY_2(poch)
SDGRAD_SCIPY_1(rgamma)
SDGRAD_SCIPY_1(gammasgn)
SDGRAD_SCIPY_1(zetac)
SDGRAD_SCIPY_2(gammainc)
SDGRAD_SCIPY_2(gammaincc)
SDGRAD_SCIPY_2(gammainccinv)
SDGRAD_SCIPY_2(gammaincinv)
SDGRAD_SCIPY_3(betainc)
SDGRAD_SCIPY_3(betaincc)
SDGRAD_SCIPY_3(betainccinv)
SDGRAD_SCIPY_3(betaincinv)
// elliptic integrals
SDGRAD_SCIPY_1(ellipe)
SDGRAD_SCIPY_2(ellipeinc)
SDGRAD_SCIPY_1(ellipk)
SDGRAD_SCIPY_2(ellipkinc)
SDGRAD_SCIPY_1(ellipkm1)
SDGRAD_SCIPY_2(agm)
SDGRAD_SCIPY_2(elliprc)
SDGRAD_SCIPY_3(elliprd)
SDGRAD_SCIPY_3(elliprf)
SDGRAD_SCIPY_3(elliprg)
SDGRAD_SCIPY_4(elliprj)
SDGRAD_SCIPY_OF_2_OUT_4(ellipj)
#define SDGRAD_CALL_ellipj sdgrad_scipy_ellipj(u, m, r, r + 1, r + 2, r + 3)
SDGRAD_SCIPY_PART(ellipj, (double u, double m), ellipj_sn, 0)
SDGRAD_SCIPY_PART(ellipj, (double u, double m), ellipj_cn, 1)
SDGRAD_SCIPY_PART(ellipj, (double u, double m), ellipj_dn, 2)
SDGRAD_SCIPY_PART(ellipj, (double u, double m), ellipj_ph, 3)
// distributions
SDGRAD_SCIPY_3(bdtr)
SDGRAD_SCIPY_3(bdtrc)
SDGRAD_SCIPY_3(bdtri)
SDGRAD_SCIPY_3(fdtri)
SDGRAD_SCIPY_3(nbdtr)
SDGRAD_SCIPY_3(nbdtrc)
SDGRAD_SCIPY_2(pdtr)
SDGRAD_SCIPY_2(pdtrc)
SDGRAD_SCIPY_2(pdtri)
SDGRAD_SCIPY_2(stdtrit)
SDGRAD_SCIPY_3(voigt_profile)
SDGRAD_SCIPY_3(gdtrib)
SDGRAD_SCIPY_2(chdtriv)
SDGRAD_SCIPY_2(stdtridf)
SDGRAD_SCIPY_3(btdtria)
SDGRAD_SCIPY_3(btdtrib)
SDGRAD_SCIPY_3(nbdtri)
// hypergeometric functions
SDGRAD_SCIPY_2(hyp0f1)
SDGRAD_SCIPY_3(hyp1f1)
SDGRAD_SCIPY_3(hyperu)
SDGRAD_SCIPY_3(wright_bessel)
SDGRAD_SCIPY_3(log_wright_bessel)
SDGRAD_SCIPY_4(hyp2f1)
#endif
