/** What clients have under way at one moment: for operators, and to show that nothing is left behind. */
export interface Activity {
  /** Sessions of legacy clients. */
  readonly sessions: number;
  /** Exchanges of modern clients that wait for their client to come back with answers. */
  readonly parked: number;
  /** Questions put to clients of either era and not answered. */
  readonly questions: number;
}
