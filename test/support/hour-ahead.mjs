/** Loaded into a process whose wall clock shall be an hour ahead; its monotonic clock is right. */
const ahead = 3_600_000;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + ahead] : args));
  }
  static now() {
    return RealDate.now() + ahead;
  }
};
