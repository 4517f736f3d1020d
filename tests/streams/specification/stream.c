/* docs/stream.md once more, in plain C99.  Build with: cc -O1 -ffp-contract=off -std=c99
 *
 * Only arithmetic and the standard library's memory and sorting: no function of libm.  Two things are left to the
 * caller: reading a plan, and counting a history (an edit comes as ids and numbers). */

#include <math.h> /* INFINITY */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* 1. Numbers */

static double whole_near(double x) { /* rint; 1.5 * 2^52 pushes the fraction out, ties to even */
    return x >= 0x1p52 ? x : (x + 0x1.8p52) - 0x1.8p52;
}

struct wide { uint64_t high, low; }; /* 128 bits */

static struct wide product(uint64_t a, uint64_t b) {
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t cross = a0 * b1 + (uint32_t)middle;
    return (struct wide){a1 * b1 + (middle >> 32) + (cross >> 32), a * b};
}

static struct wide sum(struct wide a, struct wide b) {
    uint64_t low = a.low + b.low;
    return (struct wide){a.high + b.high + (low < a.low), low};
}

static uint64_t quotient_up(struct wide a, uint64_t b) { /* ceil(a / b); b < 2^63, the result fits */
    uint64_t rest = 0, result = 0;
    for (int bit = 127; bit >= 0; bit--) {
        rest = rest << 1 | ((bit < 64 ? a.low >> bit : a.high >> (bit - 64)) & 1);
        result <<= 1;
        if (rest >= b) { rest -= b; result |= 1; }
    }
    return result + (rest > 0);
}

/* 2. Philox, 3. Counters and uniforms */

struct noise { uint64_t seed; uint32_t position, sample_index, purpose, round; };
struct node { double minimum; uint32_t holder; };

void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t left = UINT64_C(0xD2511F53) * c0, right = UINT64_C(0xCD9E8D57) * c2;
        c0 = (uint32_t)(right >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)right;
        c2 = (uint32_t)(left >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)left;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    words[0] = c0, words[1] = c1, words[2] = c2, words[3] = c3;
}

static uint64_t bits_and_hash(const struct noise *n, uint32_t level, uint32_t index, uint32_t *hash) {
    uint32_t counter[4] = {index, n->position, n->sample_index, n->purpose << 24 | level << 16 | n->round};
    uint32_t key[2] = {(uint32_t)n->seed, (uint32_t)(n->seed >> 32)}, w[4];
    philox(counter, key, w);
    *hash = w[2];
    return ((uint64_t)w[0] << 32 | w[1]) >> 12;
}

uint64_t bits(const struct noise *n, uint32_t level, uint32_t index) {
    uint32_t hash;
    return bits_and_hash(n, level, index, &hash);
}

double uniform(const struct noise *n, uint32_t level, uint32_t index) {
    return ((double)bits(n, level, index) + 0.5) * 0x1p-52;
}

/* 4. Logarithms */

static const double NATURAL[21] = {
    -0x1.0000000000000p-1, 0x1.555555555555cp-2, -0x1.fffffffffff34p-3, 0x1.999999999772bp-3,
    -0x1.5555555561dddp-3, 0x1.249249261f2ccp-3, -0x1.fffffff7e955cp-4, 0x1.c71c70c1303cbp-4,
    -0x1.99999a6364b62p-4, 0x1.745d460eacbc4p-4, -0x1.55556c388aeddp-4, 0x1.3b0eda8f5d75cp-4,
    -0x1.248b2a78bff20p-4, 0x1.115b4daceee38p-4, -0x1.00b0e81fd59f4p-4, 0x1.dd3093b701211p-5,
    -0x1.b635ac30a3dacp-5, 0x1.bb08e0be73d94p-5, -0x1.fc84a09888c57p-5, 0x1.ceab3eecb74d9p-5,
    -0x1.8e8f5f6d78efbp-6,
};
static const double BINARY[21] = {
    -0x1.71547652b82fep-1, 0x1.ec709dc3a0408p-2, -0x1.71547652b826bp-2, 0x1.2776c50ef8328p-2,
    -0x1.ec709dc3b254cp-3, 0x1.a61762a9ea84ap-3, -0x1.7154764ce2849p-3, 0x1.484b131ad0390p-3,
    -0x1.2776c5a089ebfp-3, 0x1.0c9aa658b9effp-3, -0x1.ec70bec8ada25p-4, 0x1.c6885b8702ef2p-4,
    -0x1.a60d1d18a8ecdp-4, 0x1.8a5ecb442acdap-4, -0x1.7253af4689b4ep-4, 0x1.58383ab4ead37p-4,
    -0x1.3c19f8ac78fe2p-4, 0x1.3f94fbd0c1559p-4, -0x1.6ed1790500c8dp-4, 0x1.4dbebdde244fep-4,
    -0x1.1f8013e77cf3ep-5,
};

static double split(double x, double *f) {
    int64_t pattern, exponent;
    memcpy(&pattern, &x, 8);
    exponent = (pattern - INT64_C(0x3FE6A09E667F3BCD)) >> 52;
    pattern -= exponent * (INT64_C(1) << 52);
    memcpy(f, &pattern, 8);
    *f -= 1.0;
    return (double)exponent;
}

static double horner(const double *coefficients, double f) {
    double value = coefficients[20];
    for (int i = 19; i >= 0; i--) {
        value = value * f;
        value = value + coefficients[i];
    }
    return value;
}

double minus_ln(double x) {
    double f, n = split(x, &f), tail = (f * f) * horner(NATURAL, f);
    return -(n * 0x1.62e42fefa2000p-1 + (n * 0x1.9ef35793c7673p-41 + (f + tail)));
}

double binary_log(double x) {
    double f, n = split(x, &f), tail = (f * 0x1.777d0ffda0d24p-56) + ((f * f) * horner(BINARY, f));
    return n + ((f * 0x1.71547652b82fep+0) + tail);
}

/* 5. Noise */

static struct node fresh(const struct noise *n, uint32_t level, uint32_t index, uint32_t span) {
    uint32_t hash;
    double u = ((double)bits_and_hash(n, level, index, &hash) + 0.5) * 0x1p-52;
    return (struct node){minus_ln(u) / span, index * span + hash % span};
}

struct node group_minimum(const struct noise *n, uint32_t group) { return fresh(n, 0, group, 1024); }

struct node block_minimum(const struct noise *n, uint32_t block) {
    struct node parent = group_minimum(n, block / 16), own = fresh(n, 1, block, 64);
    if (parent.holder / 64 == block) return parent;
    return (struct node){parent.minimum + own.minimum, own.holder};
}

double exponential(const struct noise *n, uint32_t id) {
    struct node parent = block_minimum(n, id / 64);
    return parent.holder == id ? parent.minimum : parent.minimum + fresh(n, 2, id, 1).minimum;
}

/* 7. A row on its way */

struct row { float *z; int64_t *kept; int64_t vocab, count; double c; float m; };

enum kind { FORBID, ALLOW, BIAS, REPETITION, IN_TURN, TOGETHER, EXACT, DIVIDE, MULTIPLY, CHECKPOINT, TOP_K, TOP_P,
            TYPICAL, MIN_P };
enum ties { LOWEST, ALL, HIGHEST };

struct stage {
    int32_t kind, strict, raw, ties;
    double value, second;  /* p, T, a penalty; presence */
    int64_t count;         /* k; the number of ids */
    const int64_t *ids;    /* what an edit touches */
    const double *numbers; /* a bias, or how often an id was seen */
};

static int edited(struct row *r) { /* 0, or -1 for an error */
    int64_t count = 0;
    float m = -INFINITY;
    for (int64_t j = 0; j < r->count; j++) {
        float z = r->z[r->kept[j]];
        if (z != z || z == INFINITY) return -1;
        if (z > m) m = z;
        if (z > -INFINITY) r->kept[count++] = r->kept[j];
    }
    r->count = count, r->m = m;
    return count ? 0 : -1;
}

static float edit_one(const struct stage *s, float z, double number) {
    float a, b;
    switch (s->kind) {
    case BIAS: return z + (float)number;
    case REPETITION: a = (float)s->value; return z < 0 ? z * a : z / a;
    case IN_TURN: a = (float)number * (float)s->value; z = z - a; return z - (float)s->second;
    case TOGETHER: a = (float)number * (float)s->value; b = (float)s->second; a = a + b; return z - a;
    default: return -INFINITY;
    }
}

static int edit(struct row *r, const struct stage *s) {
    if (s->kind == ALLOW) {
        float *z = malloc(r->vocab * sizeof *z);
        for (int64_t i = 0; i < r->vocab; i++) z[i] = -INFINITY;
        for (int64_t j = 0; j < s->count; j++) z[s->ids[j]] = r->z[s->ids[j]];
        memcpy(r->z, z, r->vocab * sizeof *z);
        free(z);
        return edited(r);
    }
    for (int64_t j = 0; j < s->count; j++)
        r->z[s->ids[j]] = edit_one(s, r->z[s->ids[j]], s->numbers ? s->numbers[j] : 0.0);
    return s->count ? edited(r) : 0;
}

static int temperature(struct row *r, const struct stage *s) {
    float divisor = (float)s->value, factor = (float)(1.0 / s->value);
    if (s->kind == EXACT) {
        r->c = r->c / s->value;
        return edited(r); /* the scores are what they were: this sets m alone */
    }
    for (int64_t i = 0; i < r->vocab; i++) {
        r->z[i] = s->kind == DIVIDE ? r->z[i] / divisor : r->z[i] * factor;
        r->z[i] = r->z[i] + 0.0f;
    }
    return edited(r);
}

/* 8. Integer masses */

static const float POWERS[7] = {0x1p+0f, 0x1.62e430p-1f, 0x1.ebfbdcp-3f, 0x1.c6aee8p-5f,
                                0x1.3b2d4cp-7f, 0x1.5f3e54p-10f, 0x1.41fbbcp-13f};

static float power(const struct row *r, int64_t id) {
    float t = r->z[id] - r->m;
    t = t * (float)r->c;
    return t < -62.0f ? -62.0f : t > 0.0f ? 0.0f : t;
}

int64_t mass(const struct row *r, int64_t id) {
    float t = power(r, id), n = (float)whole_near(t), f = t - n, v = POWERS[6];
    for (int i = 5; i >= 0; i--) {
        v = v * f;
        v = v + POWERS[i];
    }
    return ((int64_t)(v * 0x1p24f) << 16) >> (int)-n;
}

int64_t exponent(const struct row *r, int64_t id) { return (int64_t)whole_near((double)power(r, id) * 0x1p24); }

int64_t total(const struct row *r) {
    int64_t sums = 0;
    for (int64_t j = 0; j < r->count; j++) sums += mass(r, r->kept[j]);
    return sums;
}

/* 9. Cuts */

struct place { double key; int64_t tie, id; };

static int earlier(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->tie > b->tie) - (a->tie < b->tie);
}

static struct place *total_order(const struct row *r) {
    struct place *order = malloc(r->count * sizeof *order);
    for (int64_t j = 0; j < r->count; j++)
        order[j] = (struct place){-(double)r->z[r->kept[j]], r->kept[j], r->kept[j]};
    qsort(order, r->count, sizeof *order, earlier);
    return order;
}

static int ascending(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void take(struct row *r, const struct place *ranking, int64_t count, int ties) {
    int64_t size = r->count, start, stop, skip = 0;
    if (count < 1) count = 1;
    start = stop = count;
    if (count < size && ranking[count - 1].key == ranking[count].key) {
        while (start > 0 && ranking[start - 1].key == ranking[count].key) start--;
        while (stop < size && ranking[stop].key == ranking[count].key) stop++;
        if (ties == ALL) count = start = stop;
        if (ties == HIGHEST) skip = stop - count;
    }
    for (int64_t j = 0; j < count; j++) r->kept[j] = ranking[j < start ? j : j + skip].id;
    r->count = count;
    qsort(r->kept, count, sizeof *r->kept, ascending);
}

uint64_t threshold(double p, uint64_t whole, int strict) {
    struct wide scaled = product((uint64_t)whole_near(p * 0x1p53), whole);
    uint64_t down = scaled.high << 11 | scaled.low >> 53, rest = scaled.low << 11;
    uint64_t need = down + (strict || rest > 0);
    return need ? need : 1;
}

static int64_t reach(const struct place *ranking, int64_t size, const struct row *weigher, double p, int strict) {
    uint64_t need = threshold(p, (uint64_t)total(weigher), strict), before = 0;
    int64_t count = 0;
    while (count < size && before < need) before += (uint64_t)mass(weigher, ranking[count++].id);
    return count;
}

int64_t share_exponent(double p) {
    return p > 0x1p-64 ? (int64_t)whole_near(binary_log(p) * 0x1p24) : INT64_C(-64) * (1 << 24);
}

int64_t mean(const struct row *r) {
    struct wide sums = {0, 0};
    for (int64_t j = 0; j < r->count; j++)
        sums = sum(sums, product((uint64_t)mass(r, r->kept[j]), (uint64_t)-exponent(r, r->kept[j])));
    return -(int64_t)quotient_up(sums, (uint64_t)total(r));
}

static void to_typical(const struct row *r, struct place *order) {
    int64_t centre = mean(r);
    for (int64_t j = 0; j < r->count; j++) {
        int64_t distance = exponent(r, order[j].id) - centre;
        order[j].key = (double)(distance < 0 ? -distance : distance);
        order[j].tie = j;
    }
    qsort(order, r->count, sizeof *order, earlier);
}

static void cut(struct row *r, const struct row *raw, const struct stage *s) {
    struct place *order = total_order(r);
    int64_t count = 0, least;
    if (s->kind == TOP_K) take(r, order, s->count < r->count ? s->count : r->count, s->ties);
    if (s->kind == TOP_P && s->value < 1)
        take(r, order, reach(order, r->count, s->raw ? raw : r, s->value, s->strict), s->ties);
    if (s->kind == TYPICAL && s->value < 1) {
        to_typical(r, order);
        take(r, order, reach(order, r->count, r, s->value, s->strict), s->ties);
    }
    if (s->kind == MIN_P) {
        least = exponent(r, order[0].id) + share_exponent(s->value) + s->strict;
        while (count < r->count && exponent(r, order[count].id) >= least) count++;
        take(r, order, count, ALL);
    }
    free(order);
}

/* 10. Draws */

enum rule { RACE, GREEDY, INVERSE_CDF, EXPONENTIAL_RACE, CLIPPED_GUMBEL };

static int64_t walk(const struct row *r, struct noise n) {
    n.purpose = 6;
    struct wide scaled = product(2 * bits(&n, 3, 0) + 1, (uint64_t)total(r));
    int64_t x = (int64_t)(scaled.high << 11 | scaled.low >> 53), running = 0, j = 0;
    while ((running += mass(r, r->kept[j])) <= x) j++;
    return r->kept[j];
}

double candidate(const struct row *r, const struct noise *n, int rule, const double bounds[2], int64_t id) {
    double height = (double)r->z[id] * r->c, w;
    switch (rule) {
    case RACE: return height - binary_log(exponential(n, (uint32_t)id));
    case EXPONENTIAL_RACE: return mass(r, id) ? (double)mass(r, id) / exponential(n, (uint32_t)id) : -INFINITY;
    case CLIPPED_GUMBEL:
        w = bounds[0] + (bounds[1] - bounds[0]) * uniform(n, 2, (uint32_t)id);
        return height - binary_log(minus_ln(w));
    default: return r->z[id];
    }
}

static int64_t draw(const struct row *r, const struct noise *n, int rule, const double bounds[2]) {
    int64_t best = r->kept[0];
    double highest = -INFINITY;
    if (rule == INVERSE_CDF) return walk(r, *n);
    for (int64_t j = 0; j < r->count; j++) {
        double value = candidate(r, n, rule, bounds, r->kept[j]);
        if (value > highest) highest = value, best = r->kept[j];
    }
    return best;
}

/* The whole: 0 or -1; z, kept and raw's z and kept are the caller's, vocab entries each. */

static int step(struct row *r, struct row *raw, const struct stage *s) {
    if (s->kind < EXACT) return edit(r, s);
    if (s->kind < CHECKPOINT) return temperature(r, s);
    if (s->kind > CHECKPOINT) { cut(r, raw, s); return 0; }
    memcpy(raw->z, r->z, r->vocab * sizeof *r->z);
    memcpy(raw->kept, r->kept, r->count * sizeof *r->kept);
    raw->count = r->count, raw->c = r->c, raw->m = r->m;
    return 0;
}

int run(struct row *r, struct row *raw, const struct stage *stages, int64_t count) {
    for (int64_t i = 0; i < r->vocab; i++) r->kept[i] = i, r->z[i] = r->z[i] + 0.0f;
    r->count = r->vocab, r->c = 0x1.71547652b82fep+0;
    int status = edited(r);
    for (int64_t j = 0; j < count && !status; j++) status = step(r, raw, &stages[j]);
    return status;
}

int64_t token(const struct row *r, const struct noise *n, int rule, double low, double high) {
    double bounds[2] = {low, high};
    return draw(r, n, rule, bounds);
}
