/** Something here has become worth a look; whoever listens looks. */
export class Wake {
  private readonly hearers: (() => void)[] = [];

  readonly ring = (): void => {
    for (const hear of this.hearers) hear();
  };

  listen(hear: () => void): void {
    this.hearers.push(hear);
  }
}
