// How the search ranks pages and shows them. Sphinx puts this file into its search (`html_search_scorer`).

// The words of a question; of "Fig. 10's" they are "Fig" and "10".
var splitQuery = (query) =>
  query.replace(/['\u2019]s\b/g, "").split(/[^\p{Letter}\p{Number}_]+/gu).filter((word) => word);

// Pages that answer questions go before those that record what was measured or changed.
const FOLDERS = [
  [/^(how-to|start|tutorials)\//, 8],
  [/^(reference\/(definitions|columns)|explanation\/|reference\/scenario\/|protocols\/|lessons\/)/, 6],
  [/^[^/]+$/, 7],
  [/^reference\/(command|python)/, -8],
  [/^reference\//, 2],
  [/^project\/changes|^results\/index/, -8],
];

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  // A page gains for every word of the question that is in one of its headings, and much if it is about these words: if its
  // name or its title has all of them, the more the fewer others it has.
  score: ([name, title, anchor, description, score]) => {
    const file = Search._index.docnames.indexOf(name);
    const stemmer = new Stemmer();
    const question = splitQuery((new URLSearchParams(location.search).get("q") ?? "").toLowerCase());
    const words = new Set(question.filter((word) => !stopwords.has(word)).map((word) => stemmer.stemWord(word)));
    const inHeadings = [...words].filter((word) => [Search._index.titleterms[word] ?? []].flat().includes(file));
    const about = [name.replace(/\/index$/, "").split("/").pop(), Search._index.titles[file] ?? ""].map((text) => {
      const own = new Set(splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word)).map((word) => stemmer.stemWord(word)));
      return words.size > 0 && [...words].every((word) => own.has(word)) ? (60 * words.size) / own.size : 0;
    });
    const [, folder] = FOLDERS.find(([pattern]) => pattern.test(name)) ?? ["", 0];
    return score + 10 * inHeadings.length + Math.max(...about) + folder;
  },
};

// A browser lets no page fetch files from the disk, so the excerpts there come from a script that `excerpts.py` writes.
if (location.protocol === "file:") {
  const texts = new Promise((resolve) => (window.showExcerpts = resolve));
  const script = document.createElement("script");
  script.src = "_static/excerpts.js";
  document.head.append(script);
  window.fetch = async (url) => new Response((await texts)[url.replace(/^\.\//, "")] ?? "");
}
