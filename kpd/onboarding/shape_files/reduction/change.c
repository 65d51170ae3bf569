
/* Exchanging elements leaves their sum as it is: between timed calls one element gets a value that shows in it. */
static kpd_change change(const kpd_case *c, kpd_rng *rng) {
    double share = (double)(kpd_random(rng) >> 11) / 9007199254740992.0;
    kpd_change made = {X, (size_t)(kpd_random(rng) % (uint64_t)c->dims[N]), (double)c->dims[N] / 50.0 * share};
    return made;
}
