/** Builds the page: one HTML file with everything in it, which opens from disk. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { parse } from '@decimalturn/toml-patch';
import { defineConfig, type Plugin } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const engine = process.env['CLEARWAY_ENGINE'] ?? `${root}target/web/clearway_web.wasm`;

/** The module `virtual:engine`: the engine, packed. */
function packedEngine(): Plugin {
  const id = '\0virtual:engine';
  return {
    name: 'packed-engine',
    resolveId: (source) => (source === 'virtual:engine' ? id : null),
    load(source) {
      if (source !== id) {
        return null;
      }
      this.addWatchFile(engine);
      const packed = gzipSync(readFileSync(engine), { level: 9 });
      return `export default ${JSON.stringify(packed.toString('base64'))};`;
    },
  };
}

/** The module `virtual:examples`: the list of examples that `clearway list scenarios` prints, so that it is written once. */
function examples(): Plugin {
  const id = '\0virtual:examples';
  const list = `${root}python/clearway/data/examples.toml`;
  return {
    name: 'examples',
    resolveId: (source) => (source === 'virtual:examples' ? id : null),
    load(source) {
      if (source !== id) {
        return null;
      }
      this.addWatchFile(list);
      const { question } = parse(readFileSync(list, 'utf8')) as { question: { ask: string; example: Record<string, string>[] }[] };
      const wanted = question.map(({ ask, example }) => ({
        ask,
        example: example.map(({ name, file, shows }) => ({ name, file, shows })),
      }));
      return `export default ${JSON.stringify(wanted)};`;
    },
  };
}

/** Moves scripts and styles into the HTML file. A module in a file of its own would not load from disk. */
function oneFile(): Plugin {
  return {
    name: 'one-file',
    enforce: 'post',
    generateBundle(_options, bundle) {
      for (const page of Object.values(bundle)) {
        if (page.type !== 'asset' || !page.fileName.endsWith('.html')) {
          continue;
        }
        let html = String(page.source);
        for (const [name, part] of Object.entries(bundle)) {
          const path = part.fileName.replaceAll('.', '\\.');
          if (part.type === 'chunk') {
            const code = part.code.replaceAll('</script', '<\\/script');
            const tag = new RegExp(`<script[^>]*src="[^"]*${path}"[^>]*></script>`);
            html = html.replace(tag, () => `<script type="module">${code}</script>`);
            delete bundle[name];
          } else if (part.fileName.endsWith('.css')) {
            const tag = new RegExp(`<link[^>]*href="[^"]*${path}"[^>]*>`);
            html = html.replace(tag, () => `<style>${String(part.source)}</style>`);
            delete bundle[name];
          }
        }
        page.source = html;
        page.fileName = 'clearway.html';
      }
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [packedEngine(), examples(), oneFile()],
  build: {
    outDir: `${root}target/web`,
    // Cargo keeps what the profile `web` builds for the host in the same folder.
    emptyOutDir: false,
    target: 'es2022',
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
  },
  server: { fs: { allow: [root] } },
});
