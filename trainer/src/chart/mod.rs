//! Charts as SVG, in one look for all of the trainer's reports. Every axis says its unit; legends stand beside the plot, where
//! they cover nothing.
//!
//! ```text
//! lines     quantities over the steps of an axis, such as batches
//! columns   parts that add up, over the steps of an axis
//! rows      parts that add up, one row for each name
//! points    quantities over a quantity
//! areas     parts that add up, over a quantity
//! boxes     a box plot for each name: least, quartiles, most
//! steps     the frame that lines and columns have in common, and the height of charts
//! ```
mod look;

mod steps;

mod areas;
mod boxes;
mod columns;
mod lines;
mod points;
mod rows;

pub(crate) use self::areas::areas;
pub(crate) use self::boxes::{BoxRow, boxes};
pub(crate) use self::columns::columns;
pub(crate) use self::lines::{Dot, Line, Scale, lines};
pub(crate) use self::look::{COLOURS, Colour, Part, Titles, of_category};
pub(crate) use self::points::{Series, points};
pub(crate) use self::rows::rows;
