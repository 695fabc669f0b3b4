/** What the admin of a controller lets sources be, and where the farm keeps what it makes of them (H30). */
export interface SourceRules {
  /** Hosts, `host:port`, addresses and CIDR ranges that may be private ones. None by default. */
  readonly privateHosts: readonly string[];
  /** Folders of this machine that an admin may register repositories in. None by default. */
  readonly roots: readonly string[];
  /** Certificates to trust. */
  readonly caFile?: string;
  /** No repository lies in it. */
  readonly dataFolder: string;
  readonly mirrorsFolder: string;
  /** All addresses of a name; tests give their own. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

/** Seals and opens secrets of rows; names what is made of them. */
export interface Vault {
  seal(place: string, secret: string): Buffer;
  open(place: string, sealed: Uint8Array): string;
  digest(text: string): string;
}
