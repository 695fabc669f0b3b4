import type { Described, Place, Values } from './places.js';

/** For `source` and as a file `_longshore` of the function path. Words of the person are compared as they are. */
export function zshScript(places: readonly Place[]): string {
  return `#compdef longshore
_longshore_place() {
  case "$1" in
${places.map(placeCase).join('\n')}
  esac
}
_longshore_values() {
  case "$1 $2" in
${places.flatMap(valueCases).join('\n')}
  *) values=() ;;
  esac
}
_longshore() {
  local place='' wants='' word cur=\${words[CURRENT]}
  local -i i at=0
  local -a commands flags valued values
  _longshore_place ''
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ -n $wants ]]; then wants=''; continue; fi
    if [[ $word == -* ]]; then
      if (( \${valued[(Ie)$word]} )); then wants=$word; fi
    elif (( at == 0 && \${commands[(I)\${(b)word}:*]} )); then
      place="\${place:+$place }$word"
      _longshore_place "$place"
    else
      at+=1
    fi
  done
  if [[ -z $wants && $cur == --*=* ]]; then
    wants=\${cur%%=*}
    compset -P '*='
  fi
  if [[ -n $wants ]]; then
    _longshore_values "$place" "$wants"
  elif [[ $cur == -* ]]; then
    _describe -o flag flags
    return
  else
    _longshore_values "$place" "$at"
    if (( at == 0 && \${#commands} )); then _describe command commands; fi
    if (( ! \${#values} )); then
      if (( at > 0 || ! \${#commands} )); then _describe -o flag flags; fi
      return
    fi
  fi
  if [[ $values == '@path' ]]; then _files; elif (( \${#values} )); then _describe value values; fi
}
if [[ \${funcstack[1]} == _longshore ]]; then _longshore "$@"; else compdef _longshore longshore; fi
`;
}

function placeCase({ path, commands, flags }: Place): string {
  const valued = flags.filter(({ values }) => values !== undefined).map(({ name }) => name);
  return `  '${path}') commands=(${described(commands)}) flags=(${described(flags)}) valued=(${valued.join(' ')}) ;;`;
}

const described = (all: readonly Described[]) =>
  all.map(({ name, about }) => quoted(`${escaped(name)}:${about}`)).join(' ');
const escaped = (text: string) => text.replaceAll(':', '\\:');
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function valueCases({ path, flags, values }: Place): readonly string[] {
  const named: readonly (readonly [string, Values | undefined])[] = [
    ...flags.map((flag) => [flag.name, flag.values] as const),
    ...values.map((each, at) => [String(at), each] as const),
  ];
  return named.flatMap(([name, each]) => {
    if (each === undefined || each.length === 0) return [];
    const words = each === 'path' ? ['@path'] : each.map(escaped);
    return [`  '${path} ${name}') values=(${words.map(quoted).join(' ')}) ;;`];
  });
}
