/** What the scripted provider does where the prompt holds no script: it says so, and how one looks. */
export const scriptWhenThereIsNone = `
steps:
  - say: There is no script in this prompt, and I have no model to think for myself.
  - call:
      operation: checkpoint
      input:
        outcome: blocked
        summary: The scripted provider needs a script in the prompt. For an agent with a model start the Task with --provider claude (or codex).
        details: |
          Put a block like this into the prompt or the member's instruction:

          \`\`\`yaml longshore-script
          steps:
            - say: I write a greeting.
            - write: {path: hello.txt, content: "Hello\\n"}
            - run: cat hello.txt
            - call: {operation: checkpoint, input: {outcome: green, summary: Wrote hello.txt}}
          \`\`\`
`;
