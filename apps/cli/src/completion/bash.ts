import type { Place, Values } from './places.js';

/** Also for the bash 3.2 of macOS. Nothing that the person typed is ever expanded or run. */
export function bashScript(places: readonly Place[]): string {
  return `# longshore completion bash
_longshore_place() {
  case "$1" in
${places.map(placeCase).join('\n')}
  esac
}
_longshore_values() {
  case "$1 $2" in
${places.flatMap(valueCases).join('\n')}
  *) values='' ;;
  esac
}
_longshore() {
  local cur=\${COMP_WORDS[COMP_CWORD]} place='' wants='' word i at=0 commands flags valued values
  _longshore_place ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # --flag=value comes as three words
    if [[ $word == '=' ]]; then continue; fi
    if [[ -n $wants ]]; then wants=''; continue; fi
    if [[ $word == -* ]]; then
      if [[ " $valued " == *" $word "* ]]; then wants=$word; fi
    elif [[ $at == 0 && " $commands " == *" $word "* ]]; then
      place="\${place:+$place }$word"
      _longshore_place "$place"
    else
      at=$((at + 1))
    fi
  done
  if [[ $cur == '=' ]]; then cur=''; fi
  if [[ -n $wants ]]; then
    _longshore_values "$place" "$wants"
  elif [[ $cur == -* ]]; then
    values=$flags
  else
    _longshore_values "$place" "$at"
    if [[ $at == 0 && -n $commands ]]; then values="$commands $values"; fi
    if [[ -z $values ]]; then values=$flags; fi
  fi
  COMPREPLY=()
  if [[ $values == '@path' ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
  else
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$values" -- "$cur")
  fi
}
complete -F _longshore longshore
`;
}

function placeCase({ path, commands, flags }: Place): string {
  const words = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name).join(' ');
  const valued = flags.filter(({ values }) => values !== undefined);
  return `  '${path}') commands='${words(commands)}' flags='${words(flags)}' valued='${words(valued)}' ;;`;
}

function valueCases({ path, flags, values }: Place): readonly string[] {
  const named: readonly (readonly [string, Values | undefined])[] = [
    ...flags.map((flag) => [flag.name, flag.values] as const),
    ...values.map((each, at) => [String(at), each] as const),
  ];
  return named.flatMap(([name, each]) => {
    if (each === undefined || each.length === 0) return [];
    return [`  '${path} ${name}') values='${each === 'path' ? '@path' : each.join(' ')}' ;;`];
  });
}
