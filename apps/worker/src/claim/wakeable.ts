/** A pause that a ring can end. A wake that comes while nobody sleeps is kept for the next pause: none is lost. */
export class Wakeable {
  private rung = false;
  private end: (() => void) | undefined;

  wake(): void {
    this.rung = true;
    this.end?.();
  }

  async sleep(ms: number): Promise<void> {
    if (!this.rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.end = undefined;
    }
    this.rung = false;
  }
}
