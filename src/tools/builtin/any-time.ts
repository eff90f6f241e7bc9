/** For tools that wait for others: as long as a timer can be. They are ended by the end of their process. */
export const anyTimeMs = 2 ** 31 - 1;
