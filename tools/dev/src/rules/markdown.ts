/** A link of a page: its target as written, without the title. */
interface Link {
  readonly target: string;
  readonly line: number;
}

/** The lines outside code fences: a fence contains no links or headings. */
function proseOf(markdown: string): { readonly text: string; readonly number: number }[] {
  let fence: string | undefined;
  return markdown.split('\n').flatMap((text, index) => {
    const [, mark] = /^\s*(`{3,}|~{3,})/.exec(text) ?? [];
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined;
    else if (fence === undefined) return [{ text, number: index + 1 }];
    return [];
  });
}

export function linksOf(markdown: string): Link[] {
  return proseOf(markdown).flatMap(({ text, number }) =>
    [...text.replaceAll(/`[^`]*`/g, '').matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)].map(
      ([, target = '']) => ({
        target,
        line: number,
      }),
    ),
  );
}

/** The anchors of a page's headings, as by common renderers: repeated ones are numbered. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const { text } of proseOf(markdown)) {
    const [, heading] = /^#{1,6}\s+(.+?)\s*#*$/.exec(text) ?? [];
    if (heading === undefined) continue;
    const slug = slugOf(heading);
    let name = slug;
    for (let count = 1; anchors.has(name); count += 1) name = `${slug}-${count}`;
    anchors.add(name);
  }
  return anchors;
}

/** The anchor of a heading, without the number of a repeated one. */
export const slugOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

/** The code fences of that language, in order. */
export function codeBlocksOf(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}
