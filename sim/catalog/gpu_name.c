#include "sim/catalog/gpu_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool is_end(char c)
{
    return isalnum((unsigned char)c) == 0;
}

/* A word, or an amount of memory: "80GB". */
static bool ends_word(const char *at)
{
    return is_end(*at) || (strncasecmp(at, "gb", 2) == 0 && is_end(at[2]));
}

/* Whether a word of `text` begins with the n characters of `part`, in any case; a part of digits, or one with them, is
 * a whole word. */
static bool has_part(const char *text, const char *part, size_t n)
{
    bool is_whole = false;
    for (size_t i = 0; i < n; i++) is_whole |= isdigit((unsigned char)part[i]) != 0;
    for (const char *at = text; *at != '\0'; at++) {
        if ((at > text && !is_end(at[-1])) || strncasecmp(at, part, n) != 0) continue;
        if (!is_whole || ends_word(at + n)) return true;
    }
    return false;
}

int gpu_name_parts(const char *reported, const char *name)
{
    int n = 0;
    bool is_chip = true;
    for (const char *at = name; *at != '\0';) {
        const size_t length = strcspn(at, "-");
        const bool has_digit = strcspn(at, "0123456789") < length, found = has_part(reported, at, length);
        if (is_chip && has_digit && !found) return 0;
        is_chip &= !has_digit;
        n += found;
        at += length + (at[length] == '-');
    }
    return n;
}
