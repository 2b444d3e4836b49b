/**
 * Milliseconds since the epoch, as this process counts them: the wall clock at its start and the time that has passed.
 *
 * A wall clock that is set, by an administrator or by NTP, moves by hours in a moment: measured on it sessions would be
 * idle at once, calls out of time, and a pause of two milliseconds could last an hour. Times that a store keeps for another
 * process are as good as that process's start.
 */
export function now(): number {
  return Math.floor(performance.timeOrigin + performance.now());
}
