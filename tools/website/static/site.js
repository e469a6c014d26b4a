// What scrolls sideways can be reached by the keyboard, and the two side bars have names for screen readers.
addEventListener("load", () => {
  for (const part of document.querySelectorAll("pre, .table-wrapper, .output")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
});
