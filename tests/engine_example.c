/* A whole Tressette engine: plays the cheapest legal card (least worth, then least strength, then the
 * first suit). Build it with: cc -O2 -o engine engine_example.c
 * What it reads and writes: docs/protocol.md. */

#include <stdio.h>
#include <string.h>

#define MAX_LINE 1000 /* no line is longer */

static const char RANKS[] = "4567JQKA23"; /* weakest first */
static const char SUITS[] = "DCSB";

static int place(const char *letters, char letter) {
    const char *found = strchr(letters, letter);
    return found ? (int)(found - letters) : 0;
}

/* Thirds of a point: an ace is worth a point, a figure, a 2 or a 3 a third. */
static int worth(const char *card) {
    if (card[0] == 'A') return 3;
    return strchr("JQK23", card[0]) ? 1 : 0;
}

/* The smaller, the cheaper. */
static int price(const char *card) {
    return 100 * worth(card) + 10 * place(RANKS, card[0]) + place(SUITS, card[1]);
}

/* Where the value of a key starts in a line of " key=value" words; NULL if it has none. */
static const char *value_of(const char *line, const char *key) {
    char word[32];
    snprintf(word, sizeof word, " %s=", key);
    const char *found = strstr(line, word);
    return found ? found + strlen(word) : NULL;
}

int main(void) {
    char line[MAX_LINE + 1];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (strncmp(line, "tressette ", 10) == 0) {
            puts("tressette 1 name=cheapest houses=any");
        } else if (strncmp(line, "view ", 5) == 0) {
            const char *card = value_of(line, "legal"); /* such as 3D,AD,4C */
            const char *best = card;
            for (; card; card = card[2] == ',' ? card + 3 : NULL)
                if (price(card) < price(best)) best = card;
            if (!best) return 1;
            printf("%.2s\n", best);
        }
        fflush(stdout); /* or the answer stays in this process */
    }
    return 0;
}
