// Blocks the first drawing, so that no page is light for a moment: the theme is the one that the dashboard remembers.
try {
  const theme = localStorage.getItem('readership.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {}
