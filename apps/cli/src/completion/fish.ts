import type { Place, Values } from './places.js';

/** One line for each word; fish itself compares them with what was typed. */
export function fishScript(places: readonly Place[]): string {
  const valued = places.flatMap(({ path, flags }) =>
    flags.filter(({ values }) => values !== undefined).map(({ name }) => quoted(`${path} ${name}`)),
  );
  return `# longshore completion fish
set -g __longshore_places ${places.map(({ path }) => quoted(path)).join(' ')}
set -g __longshore_valued ${valued.join(' ')}
function __longshore_at
    set -l place ''
    set -l wants 0
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        if test $wants = 1
            set wants 0
        else if string match -q -- '-*' "$word"
            if contains -- "$place $word" $__longshore_valued
                set wants 1
            end
        else
            set -l deeper (string trim -- "$place $word")
            if contains -- "$deeper" $__longshore_places
                set place "$deeper"
            end
        end
    end
    test "$place" = "$argv[1]"
end
complete -c longshore -f
${places.flatMap(lines).join('\n')}
`;
}

function lines({ path, commands, flags, values }: Place): readonly string[] {
  const here = `complete -c longshore -n ${quoted(`__longshore_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, about }) => `${here} -a ${quoted(name)} -d ${quoted(about)}`),
    ...flags.map(({ name, about, values: its }) => `${here} -l ${name.slice(2)}${taking(its)} -d ${quoted(about)}`),
    ...values.flatMap((each) => (each === 'path' ? [`${here} -F`] : offered(each).map((words) => `${here}${words}`))),
  ];
}

function taking(values: Values | undefined): string {
  if (values === undefined) return '';
  return values === 'path' ? ' -r -F' : ` -x${offered(values).join('')}`;
}

const offered = (values: readonly string[]) => (values.length === 0 ? [] : [` -a ${quoted(values.join(' '))}`]);
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
